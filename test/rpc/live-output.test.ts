import { OnExisting, RunService } from "@pawl/proto/v1/run_service_pb.js";
import { type Offer, WorkerService } from "@pawl/proto/v1/worker_service_pb.js";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { claim, complete, json, leasedRun, leaseRef, oneTask } from "./support/fixtures.js";
import { emit, readAll, TestReader } from "./support/output.js";
import { codeAndReason } from "./support/refusal.js";
import { openTestServer, type TestServer } from "./support/test-server.js";
import { TestWorker } from "./support/worker.js";

const { method: run } = RunService;
const { method: worker } = WorkerService;

let server: TestServer;

beforeEach(async () => {
  server = await openTestServer();
});
afterEach(async () => {
  await server.close();
  expect(server.faults).toEqual([]);
});

/** Fails an attempt so that the next one begins at once. */
async function failOnce(offer: Offer): Promise<void> {
  await server.grpc.unary(worker.reportOutputs, {
    reports: [
      {
        ...leaseRef(offer),
        outcome: { case: "failure", value: { kind: "E", message: "m", retryable: true } },
        retryAfterMs: 0,
      },
    ],
  });
}

/** A run of two tasks that need nothing, both leased. */
async function twoTasks(runId: string): Promise<[Offer, Offer]> {
  const tasks = [
    { name: "a", kind: "a" },
    { name: "b", kind: "b" },
  ];
  await server.grpc.unary(run.startRuns, {
    runs: [oneTask(runId, "a", { plan: { tasks, output: "a" } })],
  });
  return [await claim(server.grpc, "a"), await claim(server.grpc, "b")];
}

describe.each(["grpc", "json"] as const)("over %s", (protocol) => {
  test("a reader gets what is there, then what comes, then the ends", async () => {
    const offer = await leasedRun(server.grpc, "r");
    await emit(server[protocol], offer, [1, 2]);
    const reader = await TestReader.open(server[protocol], { runId: "r" });
    expect(await reader.take(2)).toEqual(["only 1.1 #1: 1", "only 1.1 #2: 2"]);
    await emit(server[protocol], offer, [3]);
    expect(await reader.take(1)).toEqual(["only 1.1 #3: 3"]);
    await complete(server.grpc, offer, "done");
    expect(await reader.rest()).toEqual(["end only COMPLETED", "end run COMPLETED"]);
  });

  test("an emission says how long the lease now lasts, and that the attempt should stop", async () => {
    const offer = await leasedRun(server.grpc, "r");
    expect(await emit(server[protocol], offer, [1])).toMatchObject({
      leaseMs: 30_000,
      cancelRequested: false,
    });
    await server.grpc.unary(run.cancelRun, { runId: "r" });
    expect(await emit(server[protocol], offer, [2])).toMatchObject({ cancelRequested: true });
  });

  test("a zombie's chunks are refused, and no reader sees them", async () => {
    const first = await leasedRun(server.grpc, "r");
    await emit(server[protocol], first, [1]);
    await failOnce(first);
    const second = await claim(server.grpc, "kind-r");
    const refused = await emit(server[protocol], first, [2]).catch((error: unknown) => error);
    expect(codeAndReason(refused)).toBe("FAILED_PRECONDITION PAWL_LEASE_LOST");
    await emit(server[protocol], second, [1]);
    await complete(server.grpc, second, "done");
    expect(await readAll(server[protocol], { runId: "r", task: "only" })).toEqual([
      "only 2.2 #1: 1",
      "end only COMPLETED",
    ]);
  });
});

describe("what a worker sends on its stream", () => {
  async function connected(): Promise<{ hand: TestWorker; offer: Offer }> {
    await server.grpc.unary(run.startRuns, { runs: [oneTask("r", "k")] });
    const hand = await TestWorker.connect(server.grpc, {}, { credits: 1 });
    return { hand, offer: await hand.offer() };
  }

  test("reaches readers before the end that it reports in the same message", async () => {
    const { hand, offer } = await connected();
    const reader = await TestReader.open(server.grpc, { runId: "r" });
    const { handle, leaseVersion } = offer;
    hand.send({
      emits: [1, 2].map((number) => ({ handle, leaseVersion, number, payload: json(number) })),
      reports: [
        { handle, leaseVersion, correlation: 1, outcome: { case: "output", value: json("x") } },
      ],
    });
    expect(await hand.answer(1)).toBe("accepted");
    expect(await reader.rest()).toEqual([
      "only 1.1 #1: 1",
      "only 1.1 #2: 2",
      "end only COMPLETED",
      "end run COMPLETED",
    ]);
    hand.stream.cancel();
  });

  test("is left out where it is ill-formed, of another lease or a repeat, and nothing else suffers", async () => {
    const { hand, offer } = await connected();
    const { handle, leaseVersion } = offer;
    const good = { handle, leaseVersion, number: 2, payload: json("good") };
    const bad = [
      { ...good, handle: handle + 7, number: 3 },
      { ...good, leaseVersion: leaseVersion + 1, number: 3 },
      { ...good, number: 0 },
      { ...good, number: 2, payload: json("again") },
      { ...good, number: 1, payload: json("before") },
      { handle, leaseVersion, number: 3 },
      { ...good, number: 3, payload: { contentType: "" } },
      { ...good, number: 3, channel: "x".repeat(201) },
      { ...good, number: 3, payload: json("x".repeat(32_768)) },
    ];
    hand.send({ emits: [good, ...bad, { ...good, number: 4 }] });
    hand.send({
      reports: [
        { handle, leaseVersion, correlation: 1, outcome: { case: "output", value: json("x") } },
      ],
    });
    expect(await hand.answer(1)).toBe("accepted");
    expect(await readAll(server.json, { runId: "r", task: "only" })).toEqual([
      'only 1.1 #2 dropped 1: "good"',
      'only 1.1 #4 dropped 1: "good"',
      "end only COMPLETED",
    ]);
    hand.stream.cancel();
  });
});

describe("a reader is told what it does not get", () => {
  test("when it came late: chunks beyond the bound of a task are gone", async () => {
    const offer = await leasedRun(server.grpc, "r");
    for (let from = 1; from <= 10_500; from += 500) {
      await emit(
        server.grpc,
        offer,
        Array.from({ length: 500 }, (_, index) => from + index),
      );
    }
    await complete(server.grpc, offer, "done");
    // More than 1 MiB, by what each takes.
    const words = await readAll(server.grpc, { runId: "r", task: "only" });
    const [, dropped] = /^only 1\.1 #(\d+) dropped \d+/.exec(words[0] ?? "") ?? [];
    expect(words[0]).toBe(`only 1.1 #${dropped} dropped ${Number(dropped) - 1}: ${dropped}`);
    expect(words.length).toBe(10_500 - Number(dropped) + 2);
    expect(words.length).toBeGreaterThan(4_000);
    expect(words.slice(-2)).toEqual(["only 1.1 #10500: 10500", "end only COMPLETED"]);
  });

  test("when it was cut: it goes on where it was, without repeats, and counts what went meanwhile", async () => {
    const offer = await leasedRun(server.grpc, "r");
    await emit(server.grpc, offer, [1, 2, 3]);
    const place = { task: "only", leaseVersion: 1, number: 2 };
    const again = await TestReader.open(server.grpc, { runId: "r", after: [place] });
    expect(await again.take(1)).toEqual(["only 1.1 #3: 3"]);
    await again.leave();
    await emit(server.grpc, offer, [4, 7]);
    await complete(server.grpc, offer, "done");
    expect(await readAll(server.json, { runId: "r", after: [place] })).toEqual([
      "only 1.1 #3: 3",
      "only 1.1 #4: 4",
      "only 1.1 #7 dropped 2: 7",
      "end only COMPLETED",
      "end run COMPLETED",
    ]);
  });
});

describe("a task that begins again", () => {
  test("resets its readers with the number of the attempt, before anything of it", async () => {
    const first = await leasedRun(server.grpc, "r");
    const reader = await TestReader.open(server.grpc, { runId: "r" });
    await emit(server.grpc, first, [1, 2]);
    expect(await reader.take(2)).toEqual(["only 1.1 #1: 1", "only 1.1 #2: 2"]);
    await failOnce(first);
    const second = await claim(server.grpc, "kind-r");
    expect(await reader.take(1)).toEqual(["reset only 2.2"]);
    await emit(server.grpc, second, [1]);
    await complete(server.grpc, second, "done");
    expect(await reader.rest()).toEqual([
      "only 2.2 #1: 1",
      "end only COMPLETED",
      "end run COMPLETED",
    ]);
    const place = { task: "only", leaseVersion: 1, number: 2 };
    expect(await readAll(server.grpc, { runId: "r", task: "only", after: [place] })).toEqual([
      "reset only 2.2",
      "only 2.2 #1: 1",
      "end only COMPLETED",
    ]);
  });

  test("after a wait resets them too: it uses no attempt, but begins from its top", async () => {
    const first = await leasedRun(server.grpc, "r");
    const reader = await TestReader.open(server.grpc, { runId: "r", task: "only" });
    await emit(server.grpc, first, [1]);
    await server.grpc.unary(worker.suspend, {
      lease: leaseRef(first),
      seenThrough: first.seenThrough,
      waits: [
        { name: "w", subject: { case: "timer", value: { due: { case: "afterMs", value: 0 } } } },
      ],
    });
    const second = await claim(server.grpc, "kind-r");
    await complete(server.grpc, second, "done");
    expect(await reader.rest()).toEqual([
      "only 1.1 #1: 1",
      "reset only 1.2",
      "end only COMPLETED forgotten",
    ]);
  });

  test("with its whole run resets everything that was read", async () => {
    const first = await leasedRun(server.grpc, "r");
    const reader = await TestReader.open(server.grpc, { runId: "r" });
    await emit(server.grpc, first, [1]);
    expect(await reader.take(1)).toEqual(["only 1.1 #1: 1"]);
    await server.grpc.unary(run.startRuns, {
      runs: [oneTask("r", "kind-r", { onExisting: OnExisting.REPLACE_OPEN, requestId: "again" })],
    });
    const second = await claim(server.grpc, "kind-r");
    await emit(server.grpc, second, [1]);
    await complete(server.grpc, second, "done");
    expect(await reader.rest()).toEqual([
      "reset  0.0",
      "only 1.2 #1: 1",
      "end only COMPLETED",
      "end run COMPLETED",
    ]);
  });
});

describe("what a reader asks for", () => {
  test("one task: it hears of no other, and ends with it", async () => {
    const [a, b] = await twoTasks("r");
    const reader = await TestReader.open(server.grpc, { runId: "r", task: "b" });
    await emit(server.grpc, a, [1]);
    await emit(server.grpc, b, [1]);
    await complete(server.grpc, b, "done");
    expect(await reader.rest()).toEqual(["b 1.1 #1: 1", "end b COMPLETED"]);
    await complete(server.grpc, a, "done");
  });

  test("all tasks: chunks come in the order in which they were emitted", async () => {
    const [a, b] = await twoTasks("r");
    await emit(server.grpc, a, [1]);
    await emit(server.grpc, b, [1, 2]);
    await emit(server.grpc, a, [2]);
    expect(await readAll(server.grpc, { runId: "r", once: true })).toEqual([
      "a 1.1 #1: 1",
      "b 1.1 #1: 1",
      "b 1.1 #2: 2",
      "a 1.1 #2: 2",
    ]);
  });

  test("one channel: each counts its own numbers, and the empty one is one of them", async () => {
    const offer = await leasedRun(server.grpc, "r");
    await emit(server.grpc, offer, [1], "tokens");
    await emit(server.grpc, offer, [1, 2], "");
    await emit(server.grpc, offer, [2], "tokens");
    const once = { runId: "r", once: true };
    expect(await readAll(server.grpc, { ...once, channel: "tokens" })).toEqual([
      "only 1.1 tokens #1: 1",
      "only 1.1 tokens #2: 2",
    ]);
    expect(await readAll(server.json, { ...once, channel: "" })).toEqual([
      "only 1.1 #1: 1",
      "only 1.1 #2: 2",
    ]);
  });

  test("a task that never emits, or never begins: its end, and that of its run", async () => {
    const offer = await leasedRun(server.grpc, "r");
    const one = await TestReader.open(server.grpc, { runId: "r", task: "only" });
    const all = await TestReader.open(server.grpc, { runId: "r" });
    await complete(server.grpc, offer, "done");
    expect(await one.rest()).toEqual(["end only COMPLETED forgotten"]);
    expect(await all.rest()).toEqual(["end run COMPLETED"]);
  });

  test("a task that is skipped because another failed", async () => {
    const tasks = [
      { name: "a", kind: "a" },
      { name: "b", kind: "b", needs: ["a"] },
    ];
    await server.grpc.unary(run.startRuns, {
      runs: [oneTask("r", "a", { plan: { tasks, output: "b" } })],
    });
    const offer = await claim(server.grpc, "a");
    const reader = await TestReader.open(server.grpc, { runId: "r", task: "b" });
    await server.grpc.unary(worker.reportOutputs, {
      reports: [
        { ...leaseRef(offer), outcome: { case: "failure", value: { kind: "E", message: "m" } } },
      ],
    });
    expect(await reader.rest()).toEqual(["end b SKIPPED forgotten"]);
  });
});

test("channels beyond the bound are refused, and nothing of the request is taken", async () => {
  const offer = await leasedRun(server.grpc, "r");
  const chunksOf = (count: number) =>
    Array.from({ length: count }, (_, index) => ({
      channel: `c${index}`,
      number: 1,
      payload: json(index),
    }));
  const refused = await server.grpc
    .unary(worker.emitOutput, { lease: leaseRef(offer), chunks: chunksOf(65) })
    .catch((error: unknown) => error);
  expect(codeAndReason(refused)).toBe("INVALID_ARGUMENT PAWL_INVALID_FIELD");
  expect(await readAll(server.grpc, { runId: "r", once: true })).toEqual([]);
  await server.grpc.unary(worker.emitOutput, { lease: leaseRef(offer), chunks: chunksOf(64) });
  expect(await readAll(server.grpc, { runId: "r", once: true })).toHaveLength(64);
});

test("an emission that is sent again changes nothing, and takes no room", async () => {
  const offer = await leasedRun(server.grpc, "r");
  const payload = json("x".repeat(30_000));
  const chunks = Array.from({ length: 30 }, (_, index) => ({ number: index + 1, payload }));
  for (let time = 0; time < 3; time++) {
    await server.grpc.unary(worker.emitOutput, { lease: leaseRef(offer), chunks });
  }
  const words = await readAll(server.grpc, { runId: "r", once: true });
  expect(words.map((word) => word.split(":")[0])).toEqual(
    Array.from({ length: 30 }, (_, index) => `only 1.1 #${index + 1}`),
  );
});

test("a kernel that goes away ends its readers so that they come again", async () => {
  await leasedRun(server.grpc, "r");
  const reader = await TestReader.open(server.grpc, { runId: "r" });
  const told = reader.rest().catch((error: unknown) => error);
  server.kernel.drain();
  expect(codeAndReason(await told)).toBe("UNAVAILABLE PAWL_UNAVAILABLE");
});
