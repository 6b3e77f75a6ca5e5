import { RunService } from "@pawl/proto/v1/run_service_pb.js";
import { WorkerService } from "@pawl/proto/v1/worker_service_pb.js";
import { afterEach, beforeEach, expect, test } from "vitest";
import { VirtualTime } from "../support/virtual-time.js";
import { oneTask } from "./support/fixtures.js";
import { codeAndReason } from "./support/refusal.js";
import { openTestServer, type TestServer } from "./support/test-server.js";
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
