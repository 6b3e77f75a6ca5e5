import { RunStatus, TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { RunService } from "@pawl/proto/v1/run_service_pb.js";
import { WorkerService } from "@pawl/proto/v1/worker_service_pb.js";
import { connect, WaitTimedOut } from "@pawl/sdk";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { leaseRef } from "../rpc/support/fixtures.js";
import { TestWorker } from "../rpc/support/worker.js";
import { ClockedKernel } from "./support/clocked-kernel.js";
import { claimNow, duration, holdTask, startTask, taskOf } from "./support/leases.js";

const { method: run } = RunService;
const { method: work } = WorkerService;
const minuteMs = 60_000;

let clocked: ClockedKernel;

beforeEach(async () => {
  clocked = await ClockedKernel.open();
});

afterEach(async () => {
  await clocked.close();
  expect(clocked.faults).toEqual([]);
});

async function whyOf(runId: string): Promise<string> {
  return (await clocked.grpc.unary(run.getRun, { runId })).run?.why ?? "";
}

describe("a task for which no worker comes", () => {
  test("says which kind nobody serves and for how long, in every view, and after a restart; and that it waits only for a free one when there are some", async () => {
    await startTask(clocked.grpc, "r");
    await clocked.time.pass(5 * minuteMs);
    const nobody =
      'Task "only" has been ready for attempt 1 of 5 for 5 min, but no worker that serves kind "kind-r" is connected.';
    expect(await whyOf("r")).toBe(nobody);
    expect((await taskOf(clocked.grpc, "r")).waitsFor).toBe(nobody);
    const { runs } = await clocked.grpc.unary(run.listRuns, {});
    expect(runs.map(({ why }) => why)).toEqual([nobody]);
    const report = await clocked.grpc.unary(run.getRecoveryReport, { runId: "r" });
    expect([report.why, report.lines[0]?.sentence]).toEqual([nobody, nobody]);

    await clocked.kill();
    await clocked.start();
    await clocked.kernel.openWorkKnown;
    expect(await whyOf("r")).toBe(nobody);

    // One without credit is there, and busy.
    const worker = await TestWorker.connect(clocked.grpc, { serves: [{ kind: "kind-r" }] });
    expect(await whyOf("r")).toBe(
      'Task "only" waits for a free worker that serves kind "kind-r" for attempt 1 of 5.',
    );
    worker.stream.cancel();
    await expect.poll(() => whyOf("r")).toBe(nobody);
  });

  test("fails at its schedule-to-start limit and not before, also when that passes while the kernel is down; nobody gets it afterwards", async () => {
    const limited = { timeouts: { scheduleToStart: duration(30 * minuteMs) } };
    await startTask(clocked.grpc, "up", limited);
    await startTask(clocked.grpc, "down", limited);
    await clocked.time.pass(30 * minuteMs - 100, 10 * minuteMs);
    expect((await taskOf(clocked.grpc, "up")).status).toBe(TaskStatus.READY);
    await clocked.time.pass(200, 50);
    await expect
      .poll(async () => (await taskOf(clocked.grpc, "up")).status)
      .toBe(TaskStatus.FAILED);
    expect(await whyOf("up")).toBe(
      'Task "only" failed for good before any attempt ended: TimedOut: Expected task "only" to keep schedule-to-start (1800000 ms), but it did not.',
    );
    expect(await claimNow(clocked.grpc, "up")).toBeUndefined();

    await startTask(clocked.grpc, "later", limited);
    await clocked.kill();
    await clocked.time.pass(31 * minuteMs);
    await clocked.start();
    await clocked.kernel.openWorkKnown;
    await clocked.time.pass(100, 50);
    for (const runId of ["down", "later"]) {
      await expect
        .poll(async () => (await clocked.grpc.unary(run.getRun, { runId })).run?.status)
        .toBe(RunStatus.FAILED);
      expect(await claimNow(clocked.grpc, runId)).toBeUndefined();
    }
  });

  test("that was given back waits again under the limit, and one that a worker has taken does not", async () => {
    const limited = { timeouts: { lease: duration(86_400_000), scheduleToStart: duration(1_000) } };
    const offer = await holdTask(clocked.grpc, "r", limited);
    await clocked.time.pass(minuteMs, 500);
    expect((await taskOf(clocked.grpc, "r")).status).toBe(TaskStatus.LEASED);
    await clocked.grpc.unary(work.releaseTask, { lease: leaseRef(offer) });
    await clocked.time.pass(1_200, 50);
    await expect.poll(async () => (await taskOf(clocked.grpc, "r")).status).toBe(TaskStatus.FAILED);
  });
});

describe("whoever waits for such a run", () => {
  test("is told after as long as it said that it is still open, over the wire and in the SDK", async () => {
    await startTask(clocked.grpc, "r");
    const waiting = clocked.grpc.unary(run.getResult, { runId: "r", wait: duration(2_000) });
    await clocked.time.pass(2_500, 50);
    for (let turn = 0; turn < 50; turn++) await clocked.time.pass(50);
    expect((await waiting).result).toBeUndefined();
    const tooLong = clocked.grpc.unary(run.getResult, { runId: "r", wait: duration(51_000) });
    await expect(tooLong).rejects.toMatchObject({ reason: "PAWL_INVALID_FIELD" });

    const client = connect({ url: clocked.url });
    const error: unknown = await client
      .run("r")
      .result({ timeout: "100ms" })
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(WaitTimedOut);
    await client.close({ drainMs: 0 });
  });
});
