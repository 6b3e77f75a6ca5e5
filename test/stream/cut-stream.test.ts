import { SinkKind } from "@pawl/proto/v1/operation_pb.js";
import { RunStatus } from "@pawl/proto/v1/run_pb.js";
import { RunService } from "@pawl/proto/v1/run_service_pb.js";
import { type Offer, WorkerService } from "@pawl/proto/v1/worker_service_pb.js";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { BadNetwork } from "../field-reports/support/bad-network.js";
import { eventsOf, startTask } from "../field-reports/support/leases.js";
import { json, operation } from "../rpc/support/fixtures.js";
import { GrpcClient } from "../rpc/support/grpc-client.js";
import { codeAndReason } from "../rpc/support/refusal.js";
import { openTestServer, type TestServer } from "../rpc/support/test-server.js";
import { TestWorker } from "../rpc/support/worker.js";

let server: TestServer;
let network: BadNetwork;
let clients: GrpcClient[];

beforeEach(async () => {
  server = await openTestServer();
  network = await BadNetwork.open(server.server.port);
  clients = [];
});

afterEach(async () => {
  for (const client of clients) client.close();
  await network.close();
  await server.close();
  expect(server.faults).toEqual([]);
});

const serves = Array.from({ length: 20 }, (_, index) => ({ kind: `kind-r${index}` }));

/** Connects a worker over the bad network, on a connection of its own. */
function connect(holds: readonly Offer[], credits = 0): Promise<TestWorker> {
  const client = new GrpcClient(Number(new URL(network.url).port));
  clients.push(client);
  const hello = {
    sessionId: "one",
    serves,
    holds: holds.map(({ handle, leaseVersion, runId, task }) => ({
      ...{ handle, leaseVersion, runId, task },
    })),
  };
  return TestWorker.connect(client, hello, { credits });
}

/** Waits until the log has grown by this many events: what was sent is committed, whether or not anybody hears of it. */
async function committed(count: number): Promise<void> {
  const goal = server.kernel.info().durableSequence + count;
  while (server.kernel.info().durableSequence < goal) {
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

function reportOf({ handle, leaseVersion, runId }: Offer, correlation: number) {
  const outcome = { case: "output", value: json(`output of ${runId}`) } as const;
  return { handle, leaseVersion, correlation, outcome };
}

describe("a stream that is cut after the kernel has committed what came on it", () => {
  test("goes on: everything that is sent again is existing, nothing happens twice, and the rest of the batch gets in", async () => {
    const runIds = serves.map((_, index) => `r${index}`);
    for (const runId of runIds) await startTask(server.grpc, runId);
    const worker = await connect([], runIds.length);
    const offers: Offer[] = [];
    while (offers.length < runIds.length) offers.push(await worker.offer());

    network.swallowsAnswers = true;
    const half = offers.slice(0, 10);
    const done = committed(20); // Each completion ends its run.
    worker.send({ reports: half.map((offer, index) => reportOf(offer, index + 1)) });
    await done;
    network.swallowsAnswers = false;
    network.cut();

    // The worker has heard of nothing: it still holds all, and sends all.
    const again = await connect(offers);
    const lost = half.map(({ handle }) => handle);
    expect([...again.welcome.lostHandles].sort((a, b) => a - b)).toEqual(
      lost.sort((a, b) => a - b),
    );
    again.send({ reports: offers.slice(10).map((offer, index) => reportOf(offer, index + 11)) });
    for (const [index] of offers.slice(10).entries()) {
      expect(await again.answer(index + 11)).toBe("accepted");
    }
    for (const runId of runIds) {
      const { run } = await server.grpc.unary(RunService.method.getRun, { runId });
      expect(run?.status).toBe(RunStatus.COMPLETED);
      expect(await eventsOf(server.grpc, runId)).toEqual([
        ...["RunStarted", "TaskLeased", "TaskCompleted", "RunClosed"],
      ]);
    }
  });
});

describe("a stream that is cut in the middle of a task's batch", () => {
  test("takes it again whole: steps, intent and observation are recorded once", async () => {
    await startTask(server.grpc, "r0");
    const worker = await connect([], 1);
    const offer = await worker.offer();
    const { handle, leaseVersion } = offer;
    const step = (name: string, correlation: number) => ({
      ...{ handle, leaseVersion, correlation, name },
      outcome: { case: "value", value: json(name) } as const,
    });
    const intent = {
      ...{ handle, leaseVersion, correlation: 3, intentId: "i1" },
      operation: operation("pay", SinkKind.OPAQUE),
    };
    const batch = { steps: [step("a", 1), step("b", 2)], intents: [intent] };

    network.swallowsAnswers = true;
    const done = committed(3);
    worker.send(batch);
    await done;
    network.swallowsAnswers = false;
    network.cut();

    const again = await connect([offer]);
    expect(again.welcome.lostHandles).toEqual([]);
    again.send(batch);
    expect(await again.answer(1)).toMatchObject({ existing: true, step: { name: "a" } });
    expect(await again.answer(2)).toMatchObject({ existing: true, step: { name: "b" } });
    const answer = await again.answer(3);
    if (answer === "accepted" || answer.intent?.answer.case !== "proceed") {
      throw new Error("expected to be told to proceed, as the first time");
    }
    // The call's time is counted from the first time it was intended.
    const { key, callMs } = answer.intent.answer.value;
    expect(answer.existing).toBe(true);
    expect(callMs).toBeLessThanOrEqual(60_000);

    const observation = {
      ...{ handle, leaseVersion, correlation: 4, intentId: "i1", key },
      observation: { outcome: { case: "result", value: json("paid") } },
    } as const;
    const report = reportOf(offer, 5);
    network.swallowsAnswers = true;
    const ended = committed(3);
    again.send({ observations: [observation], reports: [report] });
    await ended;
    network.swallowsAnswers = false;
    network.cut();

    const last = await connect([offer]);
    expect(last.welcome.lostHandles).toEqual([handle]);
    last.send({ observations: [{ ...observation, handle: 0, runId: "r0" }] });
    expect(await last.answer(4)).toMatchObject({ existing: true });
    expect(await eventsOf(server.grpc, "r0")).toEqual([
      ...["RunStarted", "TaskLeased", "StepRecorded", "StepRecorded", "OperationIntended"],
      ...["OperationObserved", "TaskCompleted", "RunClosed"],
    ]);
  });
});

describe("two connections of one session", () => {
  test("are one worker on the later one: the earlier is ended by name, and its leases are given out anew", async () => {
    await startTask(server.grpc, "r0");
    const earlier = await connect([], 1);
    const { task, leaseVersion } = await earlier.offer();
    const later = await connect([]);
    // Else whoever holds it would work on under leases that are gone.
    expect(codeAndReason(await earlier.stream.ended())).toBe("INVALID_ARGUMENT PAWL_INVALID_FIELD");
    later.send({ credits: 1 });
    expect(await later.offer()).toMatchObject({ runId: "r0", leaseVersion: 2, attempt: 1 });
    const outcome = { case: "noOutput", value: {} } as const;
    const { results } = await server.grpc.unary(WorkerService.method.reportOutputs, {
      reports: [{ runId: "r0", task, leaseVersion, outcome }],
    });
    expect(results.map(({ rejection }) => rejection?.reason)).toEqual(["PAWL_LEASE_LOST"]);
  });
});
