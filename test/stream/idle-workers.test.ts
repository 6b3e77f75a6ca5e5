import { afterEach, beforeEach, expect, test } from "vitest";
import { startTask } from "../field-reports/support/leases.js";
import { json } from "../rpc/support/fixtures.js";
import { TestWorker } from "../rpc/support/worker.js";
import { openTimedServer, type TimedServer } from "./support/timed-server.js";

let server: TimedServer;

beforeEach(async () => {
  server = await openTimedServer();
});

afterEach(async () => {
  await server.close();
  expect(server.faults).toEqual([]);
});

const workerCount = 500;
const pingMs = 5_000;

/** Connects workers that all serve one kind, and each one of its own. */
function connectAll(): Promise<TestWorker[]> {
  return Promise.all(
    Array.from({ length: workerCount }, (_, index) => {
      const serves = [{ kind: `kind-${index}` }, { kind: "kind-r" }];
      const hello = { sessionId: `s${index}`, serves };
      return TestWorker.connect(server.grpc, hello, { credits: 1 });
    }),
  );
}

/** How many timers are armed while so much time passes. */
async function timersIn(ms: number): Promise<number> {
  const { time } = server;
  const before = time.delaysMs.length;
  await time.pass(ms, 100);
  return time.delaysMs.length - before;
}

test("500 idle workers cost nothing but their pings: no timer, no write, no other message", async () => {
  await timersIn(pingMs); // What a kernel arms once, at its start, and then each minute.
  const withNone = await timersIn(pingMs);
  const workers = await connectAll();
  const durable = server.kernel.info().durableSequence;
  expect(await timersIn(pingMs)).toBe(withNone + workerCount);
  for (const worker of workers) {
    const message = await worker.receive();
    expect(message).toMatchObject({ offers: [], accepted: [], results: [], lostLeases: [] });
    expect(message.ping).toBeGreaterThan(0);
    worker.send({ pong: message.ping });
  }
  expect(server.kernel.info().durableSequence).toBe(durable);

  // And one task among them is one offer, to one of them.
  await startTask(server.grpc, "r");
  const { worker, offer } = await Promise.race(
    workers.map(async (one) => ({ worker: one, offer: await one.offer() })),
  );
  const { handle, leaseVersion } = offer;
  const outcome = { case: "output", value: json(1) } as const;
  worker.send({ reports: [{ handle, leaseVersion, correlation: 1, outcome }] });
  expect(await worker.answer(1)).toBe("accepted");
  // Start, lease, completion, end.
  expect(server.kernel.info().durableSequence).toBe(durable + 4);
  const offered = workers.filter(({ seen }) => seen.some(({ offers }) => offers.length > 0));
  expect(offered).toEqual([worker]);
});
