import { Compactor } from "@pawl/server/kernel/storage/compactor.js";
import { runKey, segmentKey } from "@pawl/server/log/key.js";
import { MemoryDisk } from "@pawl/server/log/memory-store.js";
import type { KeyRange, Store } from "@pawl/server/log/store.js";
import { StoreClosed } from "@pawl/server/log/store-errors.js";
import { beforeEach, describe, expect, it } from "vitest";
import { testFence } from "../../support/kernel.js";
import { VirtualTime } from "../../support/virtual-time.js";
import { HookedStore } from "./support/hooked-store.js";

const mib = 1024 * 1024;

/** Writes down what is compacted, and ends each when told. */
class WatchedStore extends HookedStore {
  readonly ranges: KeyRange[] = [];
  readonly ends: ((error?: Error) => void)[] = [];

  override compact(range: KeyRange): Promise<void> {
    this.ranges.push(range);
    return new Promise((resolve, reject) => {
      this.ends.push((error) => (error === undefined ? resolve() : reject(error)));
    });
  }
}

let store: WatchedStore;
let time: VirtualTime;
let failures: unknown[];
let compactor: Compactor;

beforeEach(() => {
  const inner: Store = new MemoryDisk().open({ epoch: testFence.epoch });
  store = new WatchedStore(inner);
  time = new VirtualTime();
  failures = [];
  const fail = (error: unknown): unknown => failures.push(error);
  compactor = new Compactor({ store, fence: testFence, timers: time, fail });
});

function segments(from: number, to: number): KeyRange {
  const key = (sequence: number): Uint8Array => segmentKey.encode({ partition: 0, sequence });
  return { gte: key(from), lt: key(to) };
}

function runs(from: number, to: number): KeyRange {
  const key = (runNumber: number): Uint8Array => runKey.encode({ partition: 0, runNumber });
  return { gte: key(from), lt: key(to) };
}

async function endOne(error?: Error): Promise<void> {
  store.ends.shift()?.(error);
  await time.settle();
}

describe("the room of removed rows", () => {
  it("is given back at once when it is large", () => {
    compactor.removed(segments(0, 100), 16 * mib);
    expect(store.ranges).toEqual([segments(0, 100)]);
  });

  it("is gathered by kind while it is small, and given back after a minute all the same", async () => {
    compactor.removed(segments(0, 100), 10);
    compactor.removed(runs(7, 9), 5);
    compactor.removed(segments(100, 200), 10);
    compactor.removed(runs(1, 2), 5);
    expect(compactor.status).toEqual({ rounds: 0, bytes: 0, waitingBytes: 30 });
    await time.advance(59_000);
    expect(store.ranges).toEqual([]);
    await time.advance(1_000);
    expect(store.ranges).toEqual([segments(0, 200)]);
    await endOne();
    await time.advance(62_000);
    expect(store.ranges).toEqual([segments(0, 200), runs(1, 9)]);
    await endOne();
    expect(compactor.status).toEqual({ rounds: 2, bytes: 30, waitingBytes: 0 });
  });

  it("is given back one range at a time, with a rest between", async () => {
    compactor.removed(segments(0, 100), 16 * mib);
    compactor.removed(segments(100, 200), 16 * mib);
    compactor.removed(segments(200, 300), 16 * mib);
    await time.advance(600_000);
    expect(store.ranges).toHaveLength(1);
    await endOne();
    expect(store.ranges).toHaveLength(1);
    await time.advance(600_000);
    expect(store.ranges).toEqual([segments(0, 100), segments(100, 200)]);
    await endOne();
    await time.advance(600_000);
    expect(store.ranges).toEqual([segments(0, 100), segments(100, 200), segments(200, 300)]);
  });

  it("is waited for at the end, and none begins then", async () => {
    compactor.removed(segments(0, 100), 16 * mib);
    compactor.removed(segments(100, 200), 16 * mib);
    let isClosed = false;
    const closed = compactor.close().then(() => {
      isClosed = true;
    });
    await time.settle();
    expect(isClosed).toBe(false);
    await endOne();
    await closed;
    compactor.removed(segments(200, 300), 16 * mib);
    await time.advance(600_000);
    expect(store.ranges).toEqual([segments(0, 100)]);
  });

  it("fails the kernel when the store fails, and not when it was closed meanwhile", async () => {
    compactor.removed(segments(0, 100), 16 * mib);
    await endOne(new StoreClosed());
    expect(failures).toEqual([]);
    const other = new WatchedStore(new MemoryDisk().open());
    const parts = { store: other, fence: testFence, timers: time };
    new Compactor({ ...parts, fail: (failure) => failures.push(failure) }).removed(
      runs(0, 1),
      16 * mib,
    );
    const error = new Error("disk gone");
    other.ends.shift()?.(error);
    await time.settle();
    expect(failures).toEqual([error]);
  });
});
