import { RunService } from "@pawl/proto/v1/run_service_pb.js";
import { WorkerService } from "@pawl/proto/v1/worker_service_pb.js";
import type { OutputEntry } from "@pawl/server/kernel/output/output-entry.js";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ClockedKernel } from "../field-reports/support/clocked-kernel.js";
import { claim, complete, json, leasedRun, leaseRef, oneTask } from "../rpc/support/fixtures.js";
import { emit, readAll, TestReader } from "../rpc/support/output.js";

let clocked: ClockedKernel;

beforeEach(async () => {
  clocked = await ClockedKernel.open();
});

afterEach(async () => {
  await clocked.close();
  expect(clocked.faults).toEqual([]);
});

const range = (from: number, count: number): number[] =>
  Array.from({ length: count }, (_, index) => from + index);

describe("what is kept when no lease is live any more", () => {
  test("of a task that has ended: all for 60 s, then nothing, and the reader is told so", async () => {
    const offer = await leasedRun(clocked.grpc, "r");
    await emit(clocked.grpc, offer, [1, 2]);
    await complete(clocked.grpc, offer, "done");
    await clocked.time.pass(59_000);
    const all = ["only 1.1 #1: 1", "only 1.1 #2: 2", "end only COMPLETED", "end run COMPLETED"];
    expect(await readAll(clocked.grpc, { runId: "r" })).toEqual(all);
    await clocked.time.pass(2_000);
    expect(await readAll(clocked.grpc, { runId: "r" })).toEqual(["end run COMPLETED"]);
    expect(await readAll(clocked.grpc, { runId: "r", task: "only" })).toEqual([
      "end only COMPLETED forgotten",
    ]);
  });

  test("of a task that waits: the same, and its next lease resets whoever has it", async () => {
    const offer = await leasedRun(clocked.grpc, "r");
    const reader = await TestReader.open(clocked.grpc, { runId: "r", task: "only" });
    await emit(clocked.grpc, offer, [1]);
    expect(await reader.take(1)).toEqual(["only 1.1 #1: 1"]);
    await clocked.grpc.unary(WorkerService.method.suspend, {
      lease: leaseRef(offer),
      seenThrough: offer.seenThrough,
      waits: [
        {
          name: "w",
          subject: { case: "timer", value: { due: { case: "afterMs", value: 90_000 } } },
        },
      ],
    });
    await clocked.time.pass(61_000);
    expect(await readAll(clocked.grpc, { runId: "r", once: true })).toEqual([]);
    await clocked.time.pass(30_000);
    const again = await claim(clocked.grpc, "kind-r");
    await complete(clocked.grpc, again, "done");
    expect(await reader.rest()).toEqual(["reset only 1.2", "end only COMPLETED forgotten"]);
  });

  test("a task that emits again within that time loses nothing of it", async () => {
    const first = await leasedRun(clocked.grpc, "r");
    await emit(clocked.grpc, first, [1]);
    await clocked.grpc.unary(WorkerService.method.releaseTask, { lease: leaseRef(first) });
    await clocked.time.pass(5_000);
    const second = await claim(clocked.grpc, "kind-r");
    await emit(clocked.grpc, second, [1]);
    // The first lease's time is over, the second's is not.
    await clocked.time.pass(20_000);
    await clocked.grpc.unary(WorkerService.method.renewLeases, { leases: [leaseRef(second)] });
    await clocked.time.pass(20_000);
    await clocked.grpc.unary(WorkerService.method.renewLeases, { leases: [leaseRef(second)] });
    await clocked.time.pass(20_000);
    expect(await readAll(clocked.grpc, { runId: "r", once: true })).toEqual(["only 1.2 #1: 1"]);
  });
});

test("a task that waits again and again keeps nothing of others alive", async () => {
  const often = await leasedRun(clocked.grpc, "often");
  await emit(clocked.grpc, often, [1]);
  await clocked.grpc.unary(WorkerService.method.releaseTask, { lease: leaseRef(often) });
  await clocked.time.pass(1_000);
  const once = await leasedRun(clocked.grpc, "once");
  await emit(clocked.grpc, once, [1]);
  await complete(clocked.grpc, once, "done");
  await clocked.time.pass(39_000);
  const again = await claim(clocked.grpc, "kind-often");
  await emit(clocked.grpc, again, [1]);
  await clocked.grpc.unary(WorkerService.method.releaseTask, { lease: leaseRef(again) });
  await clocked.time.pass(25_000);
  expect(await readAll(clocked.grpc, { runId: "once" })).toEqual(["end run COMPLETED"]);
  expect(await readAll(clocked.grpc, { runId: "often", once: true })).toEqual(["only 1.2 #1: 1"]);
});

test("after a restart of the kernel the attempt goes on: no reset, and what went with the process is counted", async () => {
  const offer = await leasedRun(clocked.grpc, "r");
  await emit(clocked.grpc, offer, [1, 2, 3, 4]);
  await clocked.kill();
  await clocked.start();
  await emit(clocked.grpc, offer, [5]);
  await complete(clocked.grpc, offer, "done");
  const after = [{ task: "only", leaseVersion: 1, number: 2 }];
  expect(await readAll(clocked.grpc, { runId: "r", task: "only", after })).toEqual([
    "only 1.1 #5 dropped 2: 5",
    "end only COMPLETED",
  ]);
  await clocked.kill();
  await clocked.start();
  expect(await readAll(clocked.grpc, { runId: "r", task: "only", after })).toEqual([
    "end only COMPLETED forgotten",
  ]);
});

/** Reads from the kernel itself, so that no transport reads ahead. */
async function openReading(
  runId: string,
): Promise<{ next: () => Promise<readonly OutputEntry[]>; close: () => void }> {
  const target = { kind: "run", namespace: "default", runId } as const;
  const filter = { task: undefined, channel: undefined, after: [], once: false };
  const reading = await clocked.kernel.readOutput(target, filter);
  const { signal } = new AbortController();
  return { next: async () => (await reading.next(signal)) ?? [], close: () => reading.close() };
}

test("a slow reader loses chunks and is told how many; a quick one beside it gets all", async () => {
  const offer = await leasedRun(clocked.grpc, "r");
  const [slow, quick] = [await openReading("r"), await openReading("r")];
  const seen: number[] = [];
  for (let from = 1; from <= 12_000; from += 1_000) {
    await emit(clocked.grpc, offer, range(from, 1_000));
    for (const entry of await quick.next()) {
      if (entry.kind === "chunk") seen.push(entry.number);
    }
  }
  expect(seen).toEqual(range(1, 12_000));
  const [first] = await slow.next();
  if (first?.kind !== "chunk") throw new Error("Expected a chunk.");
  expect(first.dropped).toBeGreaterThan(1_000);
  expect(first.number).toBe(first.dropped + 1);
  slow.close();
  quick.close();
});

test("all tasks together are bounded: what was longest without new chunks goes first", async () => {
  const names = range(1, 70).map((number) => `t${number}`);
  await clocked.grpc.unary(RunService.method.startRuns, {
    runs: [
      oneTask("r", "k", {
        plan: { tasks: names.map((name) => ({ name, kind: name })), output: "t1" },
      }),
    ],
  });
  const payload = json("x".repeat(32_000));
  for (const name of names) {
    const offer = await claim(clocked.grpc, name);
    const chunks = range(1, 32).map((number) => ({ number, payload }));
    await clocked.grpc.unary(WorkerService.method.emitOutput, { lease: leaseRef(offer), chunks });
  }
  const reading = await openReading("r");
  const kept = new Map<string, { first: number; count: number }>();
  let bytes = 0;
  while (kept.get("t70")?.count !== 32) {
    for (const entry of await reading.next()) {
      if (entry.kind !== "chunk") continue;
      const known = kept.get(entry.task) ?? { first: entry.number, count: 0 };
      kept.set(entry.task, { ...known, count: known.count + 1 });
      bytes += entry.payload.length;
    }
  }
  reading.close();
  expect(bytes).toBeLessThan(64 * 1024 * 1024);
  expect(bytes).toBeGreaterThan(60 * 1024 * 1024);
  expect(kept.has("t1")).toBe(false);
  expect(kept.get("t69")).toEqual({ first: 1, count: 32 });
});
