import { OperationScope } from "@pawl/proto/v1/operation_pb.js";
import { OnExisting } from "@pawl/proto/v1/run_service_pb.js";
import { decodeEvents } from "@pawl/server/kernel/decode-events.js";
import { readRow } from "@pawl/server/kernel/storage/stored-run.js";
import { readChunk } from "@pawl/server/log/chunk.js";
import { chunkKey, rangeOfKind, runKey, stepKey, taskKey } from "@pawl/server/log/key.js";
import { readMeta } from "@pawl/server/log/meta.js";
import { describe, expect, it } from "vitest";
import { leaseTask, recordStep, startRun } from "../../core/support/commands.js";
import { planOf } from "../../core/support/plans.js";
import { propose } from "../../core/support/proposals.js";
import { MemoryKernel, testFence, testPartition } from "../../support/kernel.js";
import { finish, lease, onePlan, runOf, segmentsOf, start } from "./support/one-run.js";

/** A plan whose tasks lie in rows of their own. */
const largePlan = planOf(
  Object.fromEntries(Array.from({ length: 80 }, (_, number) => [`task-${number}`, {}])),
);

async function sealedIn(memory: MemoryKernel): Promise<string[]> {
  const segments = await segmentsOf(memory.kernel.store);
  const slices = segments.flatMap((segment) => [...segment.slices()]);
  const events = slices
    .filter(({ runNumber }) => runNumber === 0)
    .flatMap((of) => [...decodeEvents(of)]);
  const chunks = events.flatMap(({ body }) =>
    body.case === "checkpointSealed" ? body.value.chunks : [],
  );
  return chunks.map(
    ({ run, chunk, hash }) => `${run}/${chunk}/${Buffer.from(hash).toString("hex")}`,
  );
}

async function chunksIn(memory: MemoryKernel): Promise<string[]> {
  const rows = await memory.kernel.store.read(rangeOfKind(chunkKey.kind, testPartition));
  return rows.map(({ key, value }) => {
    const { runNumber, chunkNumber, hash } = readChunk(key, value);
    return `${runNumber}/${chunkNumber}/${Buffer.from(hash).toString("hex")}`;
  });
}

function runRowOf(memory: MemoryKernel, number: number): ReturnType<typeof readRow> {
  return readRow(memory.kernel.runs.source, number);
}

describe("the bytes that are in no rows", () => {
  it("are never fewer than none, and as many after a restart as before it", async () => {
    const memory = await MemoryKernel.create();
    const unsaved = (): number => memory.kernel.checkpointer.unsavedBytes;
    for (let index = 0; index < 20; index++) await finish(memory, `r${index}`);
    expect(unsaved()).toBeGreaterThan(2_000);
    await memory.time.advance(2000);
    // What is left is the seal of what was saved.
    const left = unsaved();
    expect(left).toBeGreaterThan(0);
    memory.powerCut();
    await memory.open();
    await memory.time.settle();
    expect(unsaved()).toBeGreaterThanOrEqual(left);
    await finish(memory, "more");
    await memory.time.advance(2000);
    expect(unsaved()).toBeGreaterThan(0);
  });
});

describe("when rows are written", () => {
  it("writes no row of a run before the oldest change is a second old", async () => {
    const memory = await MemoryKernel.create();
    const number = await finish(memory, "r1");
    await memory.time.advance(900);
    expect(runRowOf(memory, number)).toBeUndefined();
    await memory.time.advance(200);
    expect(runRowOf(memory, number)?.row).toMatchObject({ runId: "r1", eventCount: 4 });
  });

  it("writes rows at once when more is unsaved than it may begin with", async () => {
    const memory = await MemoryKernel.create({ beginBytes: 50, beginAgeMs: 60_000 });
    const number = await start(memory, "r1");
    await memory.time.settle();
    expect(runRowOf(memory, number)?.row.eventCount).toBe(1);
  });

  it("writes a short run once, with one chunk of all its events", async () => {
    const memory = await MemoryKernel.create();
    const number = await finish(memory, "r1");
    await memory.time.advance(2000);
    const chunks = await chunksIn(memory);
    expect(chunks.filter((chunk) => chunk.startsWith(`${number}/`))).toHaveLength(1);
  });

  it("does not write what is not durable in the log, even when the disk is free to", async () => {
    const memory = await MemoryKernel.create({ beginBytes: 0 });
    memory.disk.holdWrites = true;
    memory.kernel.ask(runOf("r1"), startRun(onePlan)).catch(() => undefined);
    await memory.time.advance(5000);
    expect(memory.disk.heldWrites).toBe(1);
    memory.disk.flush();
    await memory.time.settle();
    expect(memory.disk.heldWrites).toBeGreaterThan(0);
  });

  it("writes run rows as of the events that its chunks hold", async () => {
    const memory = await MemoryKernel.create({ beginBytes: 0 });
    const number = await start(memory, "r1");
    await lease(memory, "r1");
    await memory.time.advance(2000);
    const key = runKey.encode({ partition: testPartition, runNumber: number });
    const value = memory.kernel.store.get(key);
    expect(value).toBeDefined();
    const row = runRowOf(memory, number)?.row;
    const chunks = (await chunksIn(memory)).filter((chunk) => chunk.startsWith(`${number}/`));
    expect(row).toMatchObject({ eventCount: 2, chunkCount: chunks.length });
  });
});

describe("the horizon", () => {
  it("moves the horizon to the end of the log once all is saved, and leaves only its own seal behind it", async () => {
    const memory = await MemoryKernel.create();
    await finish(memory, "r1");
    const before = memory.kernel.loop.durableSequence;
    await memory.time.advance(2000);
    expect(memory.kernel.checkpointer.horizon.sequence).toBe(before);
    expect(readMeta(memory.kernel.store, testPartition).horizon.sequence).toBe(before);
    expect(memory.kernel.loop.durableSequence).toBe(before + 1);
  });

  it("keeps the horizon before the oldest run that is not saved", async () => {
    const memory = await MemoryKernel.create();
    await start(memory, "r1");
    await memory.time.advance(900);
    const sequence = memory.kernel.loop.durableSequence;
    await start(memory, "r2");
    memory.disk.holdWrites = true;
    await memory.time.advance(200);
    const held = memory.disk.heldWrites;
    memory.disk.flush();
    await memory.time.settle();
    expect(held).toBe(1);
    // Both were taken, the second along with the first; what a third does meanwhile stays beyond the horizon.
    expect(memory.kernel.checkpointer.horizon.sequence).toBeGreaterThanOrEqual(sequence);
    memory.disk.holdWrites = false;
    memory.disk.flush();
    await memory.time.settle();
    const horizon = memory.kernel.checkpointer.horizon.sequence;
    await start(memory, "r3");
    expect(memory.kernel.checkpointer.horizon.sequence).toBe(horizon);
  });
});

describe("seals", () => {
  it("seals every chunk that it writes in the next segment", async () => {
    const memory = await MemoryKernel.create();
    for (const runId of ["r1", "r2", "r3"]) {
      await finish(memory, runId);
      await memory.time.advance(1500);
    }
    await memory.time.advance(5000);
    expect((await sealedIn(memory)).sort()).toEqual((await chunksIn(memory)).sort());
    expect(await chunksIn(memory)).not.toHaveLength(0);
  });

  it("seals first what a crash had left unsealed", async () => {
    const memory = await MemoryKernel.create();
    await finish(memory, "r1");
    memory.disk.holdWrites = true;
    await memory.time.advance(1100);
    memory.disk.flush(1);
    await memory.time.settle();
    expect(memory.disk.heldWrites).toBe(1);
    memory.powerCut();
    memory.disk.holdWrites = false;
    await memory.open();
    expect(await chunksIn(memory)).toHaveLength(1);
    expect(await sealedIn(memory)).toEqual([]);
    await memory.time.settle();
    expect(await sealedIn(memory)).toEqual(await chunksIn(memory));
    memory.powerCut();
    await memory.open();
    await memory.time.settle();
    expect(await sealedIn(memory)).toHaveLength(1);
  });

  it("commits nothing more when nothing happens: a seal alone is no reason to save", async () => {
    const memory = await MemoryKernel.create();
    await finish(memory, "r1");
    await memory.time.advance(3000);
    const head = memory.kernel.loop.durableSequence;
    await memory.time.advance(600_000);
    expect(memory.kernel.loop.durableSequence).toBe(head);
  });

  it("leaves nothing to read again when it closes but its last seal", async () => {
    const memory = await MemoryKernel.create();
    await finish(memory, "r1");
    await start(memory, "r2");
    await memory.close();
    await memory.open();
    expect(memory.kernel.recovery.tail.size).toBe(0);
    expect(memory.kernel.recovery.borders).toHaveLength(1);
  });
});

describe("what stays in memory", () => {
  it("lets a run that has ended leave memory, and keeps one that goes on", async () => {
    const memory = await MemoryKernel.create();
    const over = await finish(memory, "r1");
    const open = await start(memory, "r2");
    await memory.time.advance(3000);
    expect(memory.kernel.residency.resident(over)).toBeUndefined();
    expect(memory.kernel.residency.resident(open)?.isDirty).toBe(false);
  });

  it("keeps no more runs in memory than it may, the least used go first", async () => {
    const memory = await MemoryKernel.create({ residentsMax: 10 });
    const numbers: number[] = [];
    for (let index = 0; index < 30; index++) {
      numbers.push(await start(memory, `r${index}`));
    }
    await memory.time.advance(3000);
    expect(memory.kernel.residency.size).toBeLessThanOrEqual(10);
    expect(memory.kernel.residency.resident(numbers[29] ?? 0)).toBeDefined();
    expect((await memory.kernel.load(numbers[0] ?? 0))?.run.runId).toBe("r0");
  });

  it("never lets go of what is not saved", async () => {
    const memory = await MemoryKernel.create({ residentsMax: 1, beginAgeMs: 60_000 });
    for (let index = 0; index < 20; index++) {
      await start(memory, `r${index}`);
    }
    memory.kernel.checkpointer.relieve();
    expect(memory.kernel.residency.size).toBe(20);
  });

  it("lets starts go on that waited for what a start of the kernel had not looked at yet", async () => {
    const memory = await MemoryKernel.create({ lagBytes: 10 });
    await start(memory, "r1");
    memory.powerCut();
    await memory.open();
    expect(memory.kernel.checkpointer.isLagging()).toBe(true);
    const started = memory.kernel.ask(runOf("r2"), startRun(onePlan, { runId: "r2" }));
    await memory.time.advance(3000);
    expect(await started).toMatchObject({ accepted: true });
  });

  it("has no start wait for its own seals, which nothing would take away", async () => {
    const memory = await MemoryKernel.create({ lagBytes: 10 });
    await start(memory, "r1");
    await memory.time.advance(3000);
    memory.powerCut();
    await memory.open();
    await memory.time.settle();
    expect(memory.kernel.checkpointer.unsavedBytes).toBeGreaterThan(20);
    await start(memory, "r2");
  });

  it("has starts wait while it lags behind, and lets them go on when it has caught up", async () => {
    const memory = await MemoryKernel.create({ lagBytes: 500, beginBytes: 1_000_000 });
    let index = 0;
    while (!memory.kernel.checkpointer.isLagging()) {
      await start(memory, `r${index++}`);
    }
    const waiting = memory.kernel.ask(runOf("late"), startRun(onePlan, { runId: "late" }));
    await memory.time.settle();
    expect(memory.kernel.residency.findRun("default", "late")).toBeUndefined();
    await memory.time.advance(3000);
    expect(await waiting).toMatchObject({ accepted: true });
  });
});

describe("while the checkpointer lags behind", () => {
  /** A kernel that lags, with `r0` open and settled. */
  async function lagging(): Promise<MemoryKernel> {
    const memory = await MemoryKernel.create({ lagBytes: 500, beginBytes: 1_000_000 });
    for (let index = 0; !memory.kernel.checkpointer.isLagging(); index++) {
      await start(memory, `r${index}`);
    }
    return memory;
  }

  it("has a start wait that begins a run once more, and lets one that only finds it through", async () => {
    const memory = await lagging();
    const again = startRun(onePlan, {
      ...{ runId: "r0", requestId: "q2", onExisting: OnExisting.REPLACE_OPEN },
    });
    const waiting = memory.kernel.ask(runOf("r0"), again);
    const found = memory.kernel.ask(runOf("r0"), startRun(onePlan, { runId: "r0" }));
    await memory.time.settle();
    expect(await found).toMatchObject({ accepted: true, reply: { existing: true } });
    const incarnation = () => memory.kernel.residency.resident(1)?.run.incarnation;
    expect(incarnation()).toBe(1);
    await memory.time.advance(3000);
    expect(await waiting).toMatchObject({ accepted: true, reply: { existing: false } });
    const sent = memory.kernel.ask(runOf("r0"), again);
    await memory.time.settle();
    expect(await sent).toMatchObject({ accepted: true, reply: { existing: true } });
  });

  it("has a proposal wait that makes an operation of scope NAMESPACE", async () => {
    const memory = await lagging();
    const ledger = {
      kind: "ledger",
      namespace: "default",
      operationKey: "default/mail/1",
    } as const;
    const waiting = memory.kernel.ask(
      ledger,
      propose(0, { lease: undefined, scope: OperationScope.NAMESPACE, key: "1" }),
    );
    await memory.time.settle();
    expect(memory.kernel.loop.postponedStarts).toBe(1);
    await memory.time.advance(3000);
    expect(await waiting).toMatchObject({ accepted: true });
    expect(memory.kernel.loop.postponedStarts).toBe(0);
  });
});

describe("a run that was set aside and applies again", () => {
  it("loses nothing that a run did after its last good rows", async () => {
    const memory = await MemoryKernel.create();
    const number = await start(memory, "r1", largePlan);
    await memory.time.advance(2000);
    expect(runRowOf(memory, number)?.row).toMatchObject({ eventCount: 1, split: true });
    await lease(memory, "r1");
    const resident = memory.kernel.residency.resident(number);
    if (resident === undefined) {
      throw new Error("no resident");
    }
    resident.isSound = false;
    resident.run.fault = "CompleteTask: CorruptHistory: a bug";
    resident.run.tasks = [];
    await memory.time.advance(2000);
    expect(runRowOf(memory, number)?.row).toMatchObject({ eventCount: 1, chunkCount: 2 });
    await memory.close();
    await memory.open();
    expect((await memory.kernel.load(number))?.run).toMatchObject({ eventCount: 2, fault: "" });
    const leased = memory.kernel.ask(runOf("r1"), { ...leaseTask(0), task: 1 });
    await memory.time.settle();
    expect(await leased).toMatchObject({ accepted: true });
    await memory.time.advance(2000);
    expect(runRowOf(memory, number)?.row).toMatchObject({ eventCount: 3, fault: "" });
    await memory.close();
    await memory.open();
    const [first, second] = (await memory.kernel.load(number))?.run.tasks ?? [];
    expect([first, second]).toMatchObject([{ leaseVersion: 1 }, { leaseVersion: 1 }]);
  });

  it("is written whole where its rows gave no state", async () => {
    const memory = await MemoryKernel.create();
    const number = await start(memory, "r1", largePlan);
    await lease(memory, "r1");
    const recorded = memory.kernel.ask(runOf("r1"), recordStep(1));
    await memory.time.settle();
    expect(await recorded).toMatchObject({ accepted: true });
    await memory.time.advance(2000);
    const inRun = { partition: testPartition, runNumber: number, number: 0 };
    const lost = [taskKey.encode(inRun), stepKey.encode(inRun)];
    await memory.kernel.store.putRows({ puts: [], deletes: lost, ranges: [] }, testFence);
    memory.powerCut();
    await memory.open();
    const leased = memory.kernel.ask(runOf("r1"), { ...leaseTask(0), task: 1 });
    await memory.time.settle();
    expect(await leased).toMatchObject({ accepted: true });
    await memory.time.advance(2000);
    for (const key of lost) {
      expect(memory.kernel.store.get(key)).toBeDefined();
    }
    const { row } = runRowOf(memory, number) ?? {};
    expect(row).toMatchObject({ eventCount: 4, fault: "", split: true });
  });
});

describe("a checkpointer in trouble", () => {
  it("saves the history of a run whose state could not be kept, and the horizon passes it", async () => {
    const memory = await MemoryKernel.create();
    const number = await start(memory, "r1");
    const resident = memory.kernel.residency.resident(number);
    if (resident === undefined) {
      throw new Error("no resident");
    }
    // As the loop leaves it when a fault of the kernel's code cannot be undone.
    resident.isSound = false;
    resident.run.fault = "CompleteTask: CorruptHistory: a bug";
    resident.run.tasks = [];
    await memory.time.advance(2000);
    expect(memory.kernel.checkpointer.horizon.sequence).toBe(1);
    await memory.close();
    await memory.open();
    // The history itself applies to this code: the run is as it was before the fault.
    const again = await memory.kernel.load(number);
    expect(again?.run).toMatchObject({ runId: "r1", eventCount: 1, fault: "" });
    expect(again?.run.tasks).toHaveLength(1);
    await lease(memory, "r1");
    await memory.time.advance(2000);
    expect(runRowOf(memory, number)?.row).toMatchObject({ eventCount: 2, fault: "" });
  });

  it("sets a run aside whose state cannot be written, and saves the others", async () => {
    const memory = await MemoryKernel.create();
    const bad = await start(memory, "bad");
    const good = await start(memory, "good");
    const task = memory.kernel.residency.resident(bad)?.run.tasks[0];
    if (task === undefined) {
      throw new Error("no task");
    }
    // No row has room for such a number: as if a fault of the kernel's code had counted wrongly.
    task.version = 1;
    task.attempt = -1;
    await memory.time.advance(2000);
    expect(memory.kernel.failure).toBeUndefined();
    expect(memory.kernel.loop.faults.faults).toMatchObject([{ runNumber: bad }]);
    expect(runRowOf(memory, good)?.row).toMatchObject({ eventCount: 1, fault: "" });
    expect(memory.kernel.checkpointer.horizon.sequence).toBe(2);
    await memory.close();
    await memory.open();
    expect((await memory.kernel.load(bad))?.run).toMatchObject({ runId: "bad", fault: "" });
  });

  it("stops when the store fails, and the kernel with it", async () => {
    const memory = await MemoryKernel.create();
    await memory.close();
    await memory.open({ faults: { before: ({ verb }) => (verb === "putRows" ? "enospc" : "ok") } });
    await start(memory, "r1");
    await memory.time.advance(3000);
    expect(memory.kernel.failure).toMatchObject({ code: "PAWL_STORE_FAILED" });
    await memory.time.advance(60_000);
  });
});
