import { RunStatus, TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { RunService } from "@pawl/proto/v1/run_service_pb.js";
import { describe, expect, it } from "vitest";
import { eachTestServer } from "./support/each-test-server.js";
import { claim, complete, leasedRun, textOf } from "./support/fixtures.js";

const { method: run } = RunService;
const server = eachTestServer();

describe("RewindRun", () => {
  it("opens a run that has ended, says what became of it, and is known again by its request", async () => {
    const { grpc } = server;
    await complete(grpc, await leasedRun(grpc, "back"), "done");
    const before = await grpc.unary(run.getRun, { runId: "back" });
    expect(before.run).toMatchObject({ status: RunStatus.COMPLETED, generation: 1 });
    const request = {
      runId: "back",
      requestId: "w1",
      to: { case: "task", value: { task: "only" } },
    } as const;
    const dry = await grpc.unary(run.rewindRun, { ...request, dryRun: true });
    expect(dry).toMatchObject({ existing: false, generation: 2 });
    expect(dry.outcome?.reopened).toMatchObject([{ task: "only", keepThrough: 0 }]);
    expect((await grpc.unary(run.getRun, { runId: "back" })).run).toEqual(before.run);

    const done = await grpc.unary(run.rewindRun, request);
    expect(done).toMatchObject({ existing: false, generation: 2 });
    expect(done.outcome).toEqual(dry.outcome);
    const after = await grpc.unary(run.getRun, { runId: "back" });
    expect(after.run).toMatchObject({ status: RunStatus.RUNNING, generation: 2 });
    expect(after.run?.closedAt).toBeUndefined();
    expect((await grpc.unary(run.rewindRun, request)).existing).toBe(true);

    const { task } = await grpc.unary(run.getTask, { runId: "back", task: "only" });
    expect(task).toMatchObject({ status: TaskStatus.READY, generation: 2, attempt: 0 });
    const numbers: [string, number][] = [];
    for await (const { events } of grpc.stream(run.getHistory, { runId: "back" })) {
      numbers.push(...events.map(({ type, generation }): [string, number] => [type, generation]));
    }
    expect(numbers).toEqual([
      ["RunStarted", 1],
      ["TaskLeased", 1],
      ["TaskCompleted", 1],
      ["RunClosed", 1],
      ["RunRewound", 2],
    ]);
  });

  it("lets whoever waits for the end wait for that of the new generation", async () => {
    const { grpc } = server;
    const offer = await leasedRun(grpc, "waits");
    const { runId } = offer;
    await complete(grpc, offer, "first");
    const first = await grpc.unary(run.getResult, { runId });
    expect(textOf(first.result?.output)).toBe('"first"');
    await grpc.unary(run.rewindRun, { runId, requestId: "w1", to: { case: "event", value: 1 } });
    const waiting = grpc.unary(run.getResult, { runId, wait: { seconds: 40n } });
    await complete(grpc, await claim(grpc, offer.kind), "second");
    const { result } = await waiting;
    expect(result?.status).toBe(RunStatus.COMPLETED);
    expect(textOf(result?.output)).toBe('"second"');
  });
});
