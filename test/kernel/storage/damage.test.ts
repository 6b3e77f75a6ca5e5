import { recover } from "@pawl/server/kernel/storage/recovery.js";
import { SetAside } from "@pawl/server/kernel/storage/set-aside.js";
import { rangeOfKind, runKey, segmentKey } from "@pawl/server/log/key.js";
import { describe, expect, it } from "vitest";
import { MemoryKernel, testFence, testPartition } from "../../support/kernel.js";
import { lease, start } from "./support/one-run.js";

async function recoverFrom(memory: MemoryKernel): Promise<unknown> {
  const store = memory.disk.open({ epoch: testFence.epoch });
  return await recover(store, testPartition).finally(() => store.close());
}

async function dropSegments(memory: MemoryKernel, which: (at: number, of: number) => boolean) {
  const store = memory.disk.open({ epoch: testFence.epoch });
  const rows = await store.read(rangeOfKind(segmentKey.kind, testPartition));
  const deletes = rows.filter((_, at) => which(at, rows.length)).map(({ key }) => key);
  await store.putRows({ puts: [], deletes, ranges: [] }, testFence);
  await store.close();
}

/** Two runs behind the horizon, three beyond it. */
async function crashedKernel(): Promise<MemoryKernel> {
  const memory = await MemoryKernel.create();
  await start(memory, "r1");
  await start(memory, "r2");
  await memory.time.advance(2000);
  for (const runId of ["r3", "r4", "r5"]) {
    await start(memory, runId);
  }
  memory.powerCut();
  return memory;
}

describe("a start on a damaged store", () => {
  it("refuses a log that ends before the horizon, and names the first sequence that is missing", async () => {
    const memory = await crashedKernel();
    await dropSegments(memory, (at) => at >= 1);
    await expect(recoverFrom(memory)).rejects.toMatchObject({
      code: "PAWL_STORE_DAMAGED",
      firstBadSequence: 2,
    });
  });

  it("refuses a hole in the tail, and names its sequence", async () => {
    const memory = await crashedKernel();
    await dropSegments(memory, (at, of) => at === of - 2);
    await expect(recoverFrom(memory)).rejects.toMatchObject({
      code: "PAWL_STORE_DAMAGED",
      firstBadSequence: 5,
    });
  });

  it("refuses a flipped bit in the tail, and names its sequence", async () => {
    const memory = await crashedKernel();
    memory.disk.flipBit(segmentKey.encode({ partition: testPartition, sequence: 5 }), 900);
    await expect(recoverFrom(memory)).rejects.toMatchObject({
      code: "PAWL_STORE_DAMAGED",
      firstBadSequence: 5,
    });
  });

  it("refuses a run whose row is damaged by name, and serves the others", async () => {
    const memory = await crashedKernel();
    memory.disk.flipBit(runKey.encode({ partition: testPartition, runNumber: 1 }), 300);
    await memory.open();
    await memory.time.settle();
    expect(() => memory.kernel.residency.findRun("default", "r1")).toThrowError(
      expect.objectContaining({ code: "PAWL_STORE_DAMAGED" }),
    );
    expect(memory.kernel.residency.findRun("default", "r2")).toMatchObject({ number: 2 });
    expect(memory.kernel.residency.findRun("default", "r4")).toMatchObject({ number: 4 });
  });

  it("sets a damaged run of the tail aside: the horizon goes on, the log keeps its events, and later starts refuse it", async () => {
    const memory = await MemoryKernel.create();
    await start(memory, "r1");
    await start(memory, "r2");
    await memory.time.advance(2000);
    const before = memory.kernel.loop.durableSequence;
    await lease(memory, "r1");
    await start(memory, "r3");
    memory.powerCut();
    memory.disk.flipBit(runKey.encode({ partition: testPartition, runNumber: 1 }), 300);
    const refused = expect.objectContaining({ code: "PAWL_STORE_DAMAGED" });
    for (const _life of ["first", "second"]) {
      const { residency, checkpointer, loop, store } = await memory.open();
      await memory.time.advance(5000);
      expect(() => residency.findRun("default", "r1")).toThrowError(refused);
      expect(checkpointer.horizon.sequence).toBeGreaterThanOrEqual(loop.durableSequence - 1);
      const setAside = new SetAside({ store, fence: testFence, partition: testPartition });
      expect(setAside.runs).toEqual([1]);
      expect(setAside.firstSequence).toBeGreaterThan(before - 1);
      expect(residency.findRun("default", "r3")).toMatchObject({ number: 3 });
      await memory.close();
    }
    // A bit that turns back makes it no younger state of itself: it stays refused.
    memory.disk.flipBit(runKey.encode({ partition: testPartition, runNumber: 1 }), 300);
    const { residency } = await memory.open();
    await memory.time.settle();
    expect(() => residency.findRun("default", "r1")).toThrowError(refused);
  });
});
