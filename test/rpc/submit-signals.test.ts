import { RunService, type SubmitSignalResult } from "@pawl/proto/v1/run_service_pb.js";
import { WorkerService } from "@pawl/proto/v1/worker_service_pb.js";
import { afterEach, beforeEach, expect, test } from "vitest";
import { claim, complete, json, leasedRun, leaseRef, oneTask } from "./support/fixtures.js";
import type { Duplex } from "./support/grpc-client.js";
import { openTestServer, type TestServer } from "./support/test-server.js";

const { method: run } = RunService;

let server: TestServer;
let submit: Duplex<typeof run.submit>;

beforeEach(async () => {
  server = await openTestServer();
  submit = server.grpc.duplex(run.submit);
});
afterEach(async () => {
  submit.cancel();
  await server.close();
  expect(server.faults).toEqual([]);
});

/** So many answers to signals, by their numbers. */
async function answers(count: number): Promise<ReadonlyMap<number, SubmitSignalResult>> {
  const found = new Map<number, SubmitSignalResult>();
  while (found.size < count) {
    for (const answer of (await submit.next()).signals) found.set(answer.correlation, answer);
  }
  return found;
}

/** Names of the kept signals, in order, as the run's history has them. */
async function signalsOf(runId: string): Promise<number> {
  let count = 0;
  for await (const { events } of server.grpc.stream(run.getHistory, { runId })) {
    count += events.filter(({ type }) => type === "SignalReceived").length;
  }
  return count;
}

test("signals of one message are taken in order, and each is answered by its number", async () => {
  await server.grpc.unary(run.startRuns, { runs: [oneTask("a", "k"), oneTask("b", "k")] });
  submit.send({
    signals: [
      { correlation: 7, runId: "a", name: "go", requestId: "q1", payload: json(1) },
      { correlation: 8, runId: "b", name: "go", requestId: "q1" },
      { correlation: 9, runId: "a", name: "go", requestId: "q2", expectedVersion: 1 },
    ],
  });
  const found = await answers(3);
  expect([7, 8, 9].map((number) => found.get(number)?.rejection?.reason)).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
  expect(found.get(7)).toMatchObject({ existing: false, version: 1 });
  expect([await signalsOf("a"), await signalsOf("b")]).toEqual([2, 1]);
});

test("the same signal again, on another stream or by a call, changes nothing", async () => {
  await server.grpc.unary(run.startRuns, { runs: [oneTask("a", "k")] });
  const signal = { runId: "a", name: "go", requestId: "q1", payload: json(1) };
  submit.send({ signals: [{ ...signal, correlation: 1 }] });
  expect((await answers(1)).get(1)?.existing).toBe(false);
  submit.cancel();
  submit = server.grpc.duplex(run.submit);
  submit.send({ signals: [{ ...signal, correlation: 2 }] });
  expect((await answers(1)).get(2)?.existing).toBe(true);
  expect((await server.grpc.unary(run.sendSignal, signal)).existing).toBe(true);
  expect(await signalsOf("a")).toBe(1);
});

test("a signal behind a start in one message reaches that run, and a wait before it in the message hears of the end", async () => {
  submit.send({
    starts: [oneTask("a", "k", { correlation: 1 })],
    signals: [{ correlation: 2, runId: "a", name: "go", requestId: "q" }],
    waits: [{ correlation: 3, runId: "a" }],
  });
  expect((await answers(1)).get(2)).toMatchObject({ existing: false, version: 1 });
  await complete(server.grpc, await claim(server.grpc, "k"), 1);
  const { results } = await submit.next();
  expect(results).toMatchObject([{ correlation: 3, result: { runId: "a" } }]);
});

test("what is refused is refused alone, with the reason that SendSignal gives", async () => {
  await server.grpc.unary(run.startRuns, { runs: [oneTask("a", "k"), oneTask("done", "over")] });
  await complete(server.grpc, await claim(server.grpc, "over"), 1);
  const to = (runId: string, correlation: number) => ({
    ...{ runId, correlation, name: "go", requestId: `q${correlation}` },
  });
  submit.send({
    signals: [
      to("none", 1),
      to("done", 2),
      { ...to("a", 3), expectedVersion: 9 },
      { ...to("a", 4), name: "" },
      { ...to("a", 5), requestId: "" },
      { ...to("a", 6), payload: { contentType: "application/json" } },
      { ...to("a", 7), expectedVersion: 0 },
      { ...to("a", 8), requestId: "same", payload: json(1) },
      { ...to("a", 9), requestId: "same", payload: json(2) },
      to("a", 10),
    ],
  });
  const found = await answers(10);
  const reasons = Array.from({ length: 10 }, (_, at) => found.get(at + 1)?.rejection?.reason);
  expect(reasons).toEqual([
    "PAWL_RUN_NOT_FOUND",
    "PAWL_RUN_OVER",
    "PAWL_STALE_VERSION",
    "PAWL_INVALID_FIELD",
    "PAWL_INVALID_FIELD",
    "PAWL_INVALID_FIELD",
    "PAWL_INVALID_FIELD",
    undefined,
    "PAWL_FINGERPRINT_CONFLICT",
    undefined,
  ]);
  expect(await signalsOf("a")).toBe(2);
});

test("of a namespace that does not exist, and beyond a thousand in a message, they are refused one by one", async () => {
  await server.grpc.unary(run.startRuns, { runs: [oneTask("a", "k")] });
  const signal = { correlation: 1, runId: "a", name: "go", requestId: "q" };
  submit.send({ namespace: "other", signals: [signal] });
  expect((await answers(1)).get(1)?.rejection?.reason).toBe("PAWL_NAMESPACE_NOT_FOUND");
  const signals = Array.from({ length: 1001 }, (_, at) => ({
    ...{ ...signal, correlation: at + 1, requestId: "q", expectedVersion: 9 },
  }));
  submit.send({ signals });
  const found = await answers(1001);
  expect(found.get(1000)?.rejection?.reason).toBe("PAWL_STALE_VERSION");
  expect(found.get(1001)?.rejection).toMatchObject({
    detail: { value: { field: "signals" } },
  });
});

test("content above the inline bound is stored once and comes whole", async () => {
  const first = await leasedRun(server.grpc, "r");
  const payload = json("x".repeat(40_000));
  submit.send({
    signals: [
      { correlation: 1, runId: "r", name: "go", requestId: "q", payload },
      { correlation: 2, runId: "none", name: "go", requestId: "q", payload },
    ],
  });
  const found = await answers(2);
  expect(found.get(1)).toMatchObject({ existing: false });
  expect(found.get(2)?.rejection?.reason).toBe("PAWL_RUN_NOT_FOUND");
  const subject = { case: "signal", value: { signal: "go" } } as const;
  const waits = [{ name: "go", subject }];
  await server.grpc.unary(WorkerService.method.suspend, { lease: leaseRef(first), waits });
  const { outcomes } = await claim(server.grpc, "kind-r");
  expect(outcomes[0]?.outcome).toMatchObject({
    case: "signal",
    value: { payload: { body: { case: "blob", value: { sizeBytes: 40_002n } } } },
  });
});
