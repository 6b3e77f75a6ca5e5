import type { MessageInitShape } from "@bufbuild/protobuf";
import { RunService } from "@pawl/proto/v1/run_service_pb.js";
import {
  type GetRecordsRequestSchema,
  type GetRecordsResponse,
  type Offer,
  type TaskWaitSchema,
  WorkerService,
} from "@pawl/proto/v1/worker_service_pb.js";
import { describe, expect, test } from "vitest";
import { eachTestServer } from "./support/each-test-server.js";
import { json, leaseRef, oneTask } from "./support/fixtures.js";
import { timer } from "./support/wait-cases.js";
import { TestWorker } from "./support/worker.js";

const { method: run } = RunService;
const { method: work } = WorkerService;

const server = eachTestServer();

function signal(name: string): MessageInitShape<typeof TaskWaitSchema> {
  return { name, subject: { case: "signal", value: { signal: name } } };
}

async function send(name: string): Promise<void> {
  await server.grpc.unary(run.sendSignal, {
    runId: "r",
    requestId: name,
    name,
    payload: json(name),
  });
}

/** A worker that holds the task of a new run, and has recorded a step. */
async function atWork(sessionId = "one"): Promise<{ worker: TestWorker; offer: Offer }> {
  await server.grpc.unary(run.startRuns, { runs: [oneTask("r", "k")] });
  const worker = await TestWorker.connect(server.grpc, { sessionId }, { credits: 1 });
  const offer = await worker.offer();
  const step = { name: "s", outcome: { case: "value", value: json(1) } } as const;
  worker.send({ steps: [{ ...lease(offer), correlation: 1, ...step }] });
  expect(await worker.answer(1)).toBe("accepted");
  return { worker, offer };
}

async function recordsOf(
  request: MessageInitShape<typeof GetRecordsRequestSchema>,
): Promise<GetRecordsResponse[]> {
  const pages: GetRecordsResponse[] = [];
  for await (const page of server.grpc.stream(work.getRecords, request)) pages.push(page);
  return pages;
}

const lease = ({ handle, leaseVersion }: Offer) => ({ handle, leaseVersion });

/** Gives the task back until a signal comes. */
async function suspend(
  worker: TestWorker,
  offer: Offer,
  parts: {
    readonly keepsWarm: boolean;
    readonly seenThrough?: number;
    readonly credits?: number;
    readonly signals?: readonly string[];
  },
): Promise<void> {
  const { keepsWarm, seenThrough = offer.seenThrough, credits = 1, signals = ["go"] } = parts;
  const waits = [...signals.map(signal), timer()];
  worker.send({
    suspends: [{ ...lease(offer), correlation: 2, seenThrough, waits, keepsWarm }],
    credits,
  });
  expect(await worker.answer(2)).toBe("accepted");
}

describe("a task that its worker keeps warm", () => {
  test("comes back to it with only what is new", async () => {
    const { worker, offer } = await atWork();
    await suspend(worker, offer, { keepsWarm: true });
    await send("go");
    const woken = await worker.offer();
    expect(woken).toMatchObject({ warm: true, steps: [], leaseVersion: offer.leaseVersion + 1 });
    expect(woken.outcomes.map(({ name }) => name)).toEqual(["go"]);
    // What it has lost meanwhile it can read whole.
    const pages = await recordsOf({ lease: leaseRef(woken) });
    expect(pages.flatMap(({ steps }) => steps.map(({ name }) => name))).toEqual(["s"]);
    expect(pages.flatMap(({ outcomes }) => outcomes.map(({ name }) => name))).toEqual(["go"]);
  });

  test("comes back at once with what was recorded beyond what its code had seen", async () => {
    const { worker, offer } = await atWork();
    worker.send({ waits: [{ ...lease(offer), correlation: 3, waits: [signal("go")] }] });
    expect(await worker.answer(3)).toBe("accepted");
    await send("go");
    await suspend(worker, offer, { keepsWarm: true });
    const woken = await worker.offer();
    expect(woken).toMatchObject({ warm: true, steps: [] });
    expect(woken.outcomes.map(({ name }) => name)).toEqual(["go"]);
  });

  test("goes to it first, also when others are free", async () => {
    const { worker, offer } = await atWork();
    await suspend(worker, offer, { keepsWarm: true });
    const others: TestWorker[] = [];
    for (const sessionId of ["two", "three", "four"]) {
      others.push(await TestWorker.connect(server.grpc, { sessionId }, { credits: 5 }));
    }
    await send("go");
    expect(await worker.offer()).toMatchObject({ warm: true, runId: "r" });
    expect(others.flatMap(({ seen }) => seen.flatMap(({ offers }) => offers))).toEqual([]);
  });

  test("goes whole to another one at once when it has no credit", async () => {
    const { worker, offer } = await atWork();
    await suspend(worker, offer, { keepsWarm: true, credits: 0 });
    const other = await TestWorker.connect(server.grpc, { sessionId: "two" }, { credits: 1 });
    await send("go");
    const woken = await other.offer();
    expect(woken).toMatchObject({ warm: false, runId: "r" });
    expect(woken.steps.map(({ name }) => name)).toEqual(["s"]);
    // The copy is of an earlier lease now: it counts no more.
    await suspend(other, woken, { keepsWarm: false, credits: 0, signals: ["more"] });
    worker.send({ credits: 1 });
    await server.grpc.unary(run.sendSignal, { runId: "r", requestId: "more", name: "more" });
    expect(await worker.offer()).toMatchObject({ warm: false, leaseVersion: 3 });
  });

  test("comes back in pages when much is new", async () => {
    const { worker, offer } = await atWork();
    const names = Array.from({ length: 12 }, (_, index) => `b${index}`);
    worker.send({ waits: [{ ...lease(offer), correlation: 3, waits: names.map(signal) }] });
    expect(await worker.answer(3)).toBe("accepted");
    for (const name of names) {
      const payload = json("x".repeat(30_000));
      await server.grpc.unary(run.sendSignal, { runId: "r", requestId: name, name, payload });
    }
    await suspend(worker, offer, { keepsWarm: true, signals: names });
    const woken = await worker.offer();
    expect(woken).toMatchObject({ warm: true, moreSteps: true });
    const afterNumber = woken.outcomes.at(-1)?.number ?? 0;
    const pages = await recordsOf({
      lease: leaseRef(woken),
      afterNumber,
    });
    const rest = pages.flatMap(({ outcomes }) => outcomes);
    expect([...woken.outcomes, ...rest].map(({ name }) => name)).toEqual(names);
    expect(rest.length).toBeGreaterThan(0);
  });
});

describe("a task that nobody keeps warm", () => {
  test("since the connection of its worker was lost comes back whole", async () => {
    const { worker, offer } = await atWork();
    await suspend(worker, offer, { keepsWarm: true });
    worker.stream.end();
    const again = await TestWorker.connect(server.grpc, { sessionId: "one" }, { credits: 1 });
    await send("go");
    const woken = await again.offer();
    expect(woken.warm).toBe(false);
    expect(woken.steps.map(({ name }) => name)).toEqual(["s"]);
  });

  test("since its worker did not say so comes back whole", async () => {
    const { worker, offer } = await atWork();
    await suspend(worker, offer, { keepsWarm: false });
    await send("go");
    const woken = await worker.offer();
    expect(woken.warm).toBe(false);
    expect(woken.steps.map(({ name }) => name)).toEqual(["s"]);
  });
});
