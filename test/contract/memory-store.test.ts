import { runKey } from "@pawl/server/log/key.js";
import { MemoryDisk } from "@pawl/server/log/memory-store.js";
import type { RowsWrite } from "@pawl/server/log/store.js";
import { describe, expect, test } from "vitest";
import { describeStoreContract } from "./store-contract.js";

describeStoreContract("MemoryStore", async () => {
  const disk = new MemoryDisk();
  return { open: async (options) => disk.open(options), dispose: async () => undefined };
});

const fence = { epoch: 0 };

describe("a memory disk that holds its writes", () => {
  test("acknowledges and shows them only when flushed, in order", async () => {
    const disk = new MemoryDisk({ holdWrites: true });
    const store = disk.open();
    const ended: number[] = [];
    const writes = [1, 2].map((n) => store.putRows(put(n), fence).then(() => ended.push(n)));
    await tick();
    expect(ended).toEqual([]);
    expect(store.get(keyOf(1))).toBeUndefined();
    disk.flush(1);
    await writes[0];
    await tick();
    expect(ended).toEqual([1]);
    expect(store.get(keyOf(1))).toBeDefined();
    expect(disk.heldWrites).toBe(1);
    disk.flush();
    await writes[1];
    expect(ended).toEqual([1, 2]);
  });

  test("loses them by a power cut, keeps them by a process kill, and tells no caller", async () => {
    for (const [crash, kept] of [
      [(disk: MemoryDisk) => disk.powerCut(), []],
      [(disk: MemoryDisk) => disk.powerCut(1), [2]],
      [(disk: MemoryDisk) => disk.crash(), [2, 3]],
    ] as const) {
      const disk = new MemoryDisk();
      const before = disk.open();
      await before.putRows(put(1), fence);
      disk.holdWrites = true;
      let told = 0;
      for (const n of [2, 3]) void before.putRows(put(n), fence).finally(() => (told += 1));
      await tick();
      crash(disk);
      disk.holdWrites = false;
      const after = disk.open();
      expect([1, 2, 3].filter((n) => after.get(keyOf(n)) !== undefined)).toEqual([1, ...kept]);
      await tick();
      expect(told).toBe(0);
    }
  });

  test("keeps later writes behind held ones, also when it holds no more", async () => {
    const disk = new MemoryDisk({ holdWrites: true });
    const store = disk.open();
    void store.putRows(put(1), fence);
    await tick();
    disk.holdWrites = false;
    void store.putRows(put(2), fence);
    await tick();
    expect(disk.heldWrites).toBe(2);
    disk.powerCut(1);
    const after = disk.open();
    expect([1, 2].filter((n) => after.get(keyOf(n)) !== undefined)).toEqual([1]);
  });
});

describe("a memory disk", () => {
  test("is open once at a time, and lets go of a dead handle", async () => {
    const disk = new MemoryDisk();
    const store = disk.open();
    expect(() => disk.open()).toThrow("already open");
    disk.crash();
    const next = disk.open();
    expect(() => store.get(keyOf(1))).toThrow(
      expect.objectContaining({ code: "PAWL_STORE_FAILED" }),
    );
    await next.close();
    disk.open();
  });

  test("has the free bytes that it was given", async () => {
    const disk = new MemoryDisk({ freeBytes: 10 });
    const store = disk.open();
    expect(await store.freeBytes()).toBe(10);
    disk.freeBytes = 3;
    expect(await store.freeBytes()).toBe(3);
  });

  test("turns a bit of a stored value", async () => {
    const disk = new MemoryDisk();
    const store = disk.open();
    await store.putRows(put(1), fence);
    expect(disk.flipBit(keyOf(1), 9)).toBe(true);
    expect(store.get(keyOf(1))).toEqual(Uint8Array.of(1, 3));
    expect(disk.flipBit(keyOf(2), 0)).toBe(false);
    expect(disk.flipBit(keyOf(1), 16)).toBe(false);
  });
});

function keyOf(runNumber: number): Uint8Array {
  return runKey.encode({ partition: 0, runNumber });
}

function put(runNumber: number): RowsWrite {
  return {
    puts: [{ key: keyOf(runNumber), value: Uint8Array.of(1, 1) }],
    deletes: [],
    ranges: [],
  };
}

/** Long enough for every promise that can settle to have done so. */
function tick(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
