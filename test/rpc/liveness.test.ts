import { RunService } from "@pawl/proto/v1/run_service_pb.js";
import { WorkerService } from "@pawl/proto/v1/worker_service_pb.js";
import { afterEach, beforeEach, expect, test } from "vitest";
import { VirtualTime } from "../support/virtual-time.js";
import { json, oneTask } from "./support/fixtures.js";
import { codeAndReason } from "./support/refusal.js";
import { openTestServer, type TestServer } from "./support/test-server.js";
import { askingRun } from "./support/wait-cases.js";
import { TestWorker } from "./support/worker.js";

let time: VirtualTime;
let server: TestServer;

beforeEach(async () => {
  time = new VirtualTime();
  // Only the edge's clock is virtual; the kernel behind it runs as ever.
  server = await openTestServer({ timers: time });
});
afterEach(async () => {
  const closing = server.close();
  await time.advance(10_000);
  await closing;
  expect(server.faults).toEqual([]);
});

test("a worker is pinged every 5 s, and its own pings are answered", async () => {
  const worker = await TestWorker.connect(server.grpc, {});
  await time.advance(5_000);
  const first = (await worker.receiveWhere(({ ping }) => ping !== 0)).ping;
  worker.send({ pong: first, ping: 41 });
  await worker.receiveWhere(({ pong }) => pong === 41);
  await time.advance(5_000);
  const second = (await worker.receiveWhere(({ ping }) => ping !== 0)).ping;
  expect(second).toBeGreaterThan(first);
});

test("a worker that is silent for 15 s is cut, and its session is free for the next stream", async () => {
  const worker = await TestWorker.connect(server.grpc, {});
  await time.advance(14_999);
  await worker.receiveWhere(({ ping }) => ping !== 0);
  await time.advance(1);
  const refusal = await worker.stream.ended();
  expect(codeAndReason(refusal)).toBe("UNAVAILABLE PAWL_UNAVAILABLE");
  const again = await TestWorker.connect(server.grpc, {}, { credits: 1 });
  await server.grpc.unary(RunService.method.startRuns, { runs: [oneTask("r", "k")] });
  expect((await again.offer()).runId).toBe("r");
});

test("any message counts as a sign of life", async () => {
  const worker = await TestWorker.connect(server.grpc, {});
  for (let round = 0; round < 4; round++) {
    await time.advance(10_000);
    worker.send({ ping: round + 1 });
    await worker.receiveWhere(({ pong }) => pong === round + 1);
  }
});

test("a stream that never says hello is cut as well", async () => {
  const stream = server.grpc.duplex(WorkerService.method.work);
  stream.call.write(Buffer.alloc(0));
  expect(codeAndReason(await stream.ended())).toBe("INVALID_ARGUMENT PAWL_INVALID_FIELD");
  const silent = server.grpc.duplex(WorkerService.method.work);
  // It must have reached the kernel before its time can run.
  await server.grpc.unary(RunService.method.listRuns, {});
  await time.advance(15_000);
  expect(codeAndReason(await silent.ended())).toBe("UNAVAILABLE PAWL_UNAVAILABLE");
});

test("a worker is not silent while the kernel works on what it said before", async () => {
  const { grpc } = server;
  const schema = JSON.stringify({ type: "string", pattern: "^(a+)+$" });
  const inputId = await askingRun(grpc, "slow", { schema });
  await grpc.unary(RunService.method.startRuns, { runs: [oneTask("r", "k")] });
  const worker = await TestWorker.connect(grpc, {}, { credits: 1 });
  const { handle, leaseVersion } = await worker.offer();
  // The checker is at work for a second of real time; what the worker asks waits for its turn.
  const value = json(`${"a".repeat(60)}!`);
  const answer = { case: "given", value } as const;
  const refused = grpc
    .unary(RunService.method.provideInput, { inputId, expectedVersion: 1, answer })
    .catch(codeAndReason);
  await grpc.unary(RunService.method.listRuns, {});
  const input = { question: "?", addressee: "ann", schema: "true" };
  const waits = [{ name: "ask", subject: { case: "input", value: input } as const }];
  worker.send({ suspends: [{ handle, leaseVersion, correlation: 1, waits }] });
  await grpc.unary(RunService.method.listRuns, {});
  await time.advance(60_000);
  expect(await worker.answer(1)).toBe("accepted");
  expect(await refused).toBe("INVALID_ARGUMENT PAWL_ANSWER_REFUSED");
});
