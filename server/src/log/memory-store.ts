/**
 * A store in memory with the same contract as the one on disk, and a disk that tests can stop, cut and fill. The
 * simulator's storage; also a store for a kernel that may forget.
 */

import { type FaultPlan, faultError } from "./fault-plan.js";
import { FaultStore } from "./fault-store.js";
import { segmentKey } from "./key.js";
import { SortedRows } from "./sorted-rows.js";
import {
  type Fence,
  type KeyRange,
  type PageRange,
  RANGE_KEYS_MAX,
  type RowPut,
  type RowsWrite,
  type SegmentWrite,
  type Store,
} from "./store.js";
import { StoreWriteInvalid } from "./store-errors.js";
import { StoreGuard } from "./store-guard.js";

/** How a memory disk behaves. */
export interface MemoryDiskOptions {
  /** If true, no write is durable before `flush`; default false: every write is durable at once. */
  readonly holdWrites?: boolean;
  /** Free bytes before anything is written; default none is ever used up. */
  readonly freeBytes?: number;
}

/** The partition and epoch of a handle, and the faults it meets. */
export interface MemoryStoreOptions {
  /** Default 0. */
  readonly partition?: number;
  /** Default 0. */
  readonly epoch?: number;
  readonly faults?: FaultPlan;
}

/** A write on its way: what it does, and how its caller learns of it. */
interface HeldWrite {
  readonly apply: () => void;
  readonly resolve: () => void;
}

/**
 * What survives its handles. At most one is open at a time. Writes are held in order while `holdWrites` is on:
 * handed to the disk, but not synced.
 */
export class MemoryDisk {
  readonly #rows = new SortedRows();
  readonly #held: HeldWrite[] = [];
  #handle: MemoryStore | undefined;
  /** May be switched at any time; what is held stays held until `flush`. */
  holdWrites: boolean;
  /** What `freeBytes` of the store says; tests set it. */
  freeBytes: number;

  constructor(options: MemoryDiskOptions = {}) {
    this.holdWrites = options.holdWrites ?? false;
    this.freeBytes = options.freeBytes ?? Number.MAX_SAFE_INTEGER;
  }

  /** Opens a handle. Throws an error with code LEVEL_LOCKED, as LevelDB's, if one is open. */
  open(options: MemoryStoreOptions = {}): Store {
    if (this.#handle !== undefined) {
      throw Object.assign(new Error("the memory disk is already open"), { code: "LEVEL_LOCKED" });
    }
    const store = new MemoryStore(this, this.#rows, options);
    this.#handle = store;
    return options.faults === undefined ? store : new FaultStore(store, options.faults);
  }

  /** Rows on the disk, held ones not counted. */
  get rowCount(): number {
    return this.#rows.size;
  }

  /** Writes that are held. */
  get heldWrites(): number {
    return this.#held.length;
  }

  /** Makes the first `count` held writes durable (default all) and tells their callers. */
  flush(count: number = this.#held.length): void {
    for (const { apply, resolve } of this.#held.splice(0, count)) {
      apply();
      resolve();
    }
  }

  /**
   * Power cut: what was not synced is gone, but for its first `keptWrites` (default 0; a disk may have synced them
   * without saying so). The open handle is dead: its calls never end. Open a new one.
   */
  powerCut(keptWrites: number = 0): void {
    for (const { apply } of this.#held.splice(0).slice(0, keptWrites)) apply();
    this.#handle?.abandon();
    this.#handle = undefined;
  }

  /**
   * Process kill: the operating system has all that was handed to it, so every held write is kept and no caller is
   * told. The open handle is dead, as after `powerCut`.
   */
  crash(): void {
    this.powerCut(this.#held.length);
  }

  /** Turns one bit of a stored value, as a bad disk would. False if there is no such row or bit. */
  flipBit(key: Uint8Array, bit: number): boolean {
    const value = this.#rows.get(key);
    const byte = value?.[bit >> 3];
    if (value === undefined || byte === undefined) return false;
    value[bit >> 3] = byte ^ (1 << (bit & 7));
    this.#rows.put(key, value);
    return true;
  }

  /** Used by the handle: does a write now or holds it. */
  submit(apply: () => void): Promise<void> {
    if (!this.holdWrites && this.#held.length === 0) {
      apply();
      return Promise.resolve();
    }
    return new Promise((resolve) => {
      this.#held.push({ apply, resolve });
    });
  }

  /** Used by the handle when it closes. */
  release(handle: MemoryStore): void {
    if (this.#handle === handle) this.#handle = undefined;
  }
}

/** One handle on a memory disk; made by `MemoryDisk.open`. */
export class MemoryStore implements Store {
  readonly #disk: MemoryDisk;
  readonly #rows: SortedRows;
  readonly #partition: number;
  readonly #guard: StoreGuard;
  #isAbandoned = false;

  constructor(disk: MemoryDisk, rows: SortedRows, options: MemoryStoreOptions) {
    this.#disk = disk;
    this.#rows = rows;
    this.#partition = options.partition ?? 0;
    const [last] = rows.read({
      ...segmentKey.range({ partition: this.#partition }),
      reverse: true,
      limit: 1,
    });
    this.#guard = new StoreGuard({
      epoch: options.epoch ?? 0,
      lastFirstSequence: last === undefined ? 0 : segmentKey.decode(last.key).sequence,
      isOrdered: true,
    });
  }

  async append(segments: readonly SegmentWrite[], fence: Fence): Promise<void> {
    if (this.#isAbandoned) return never();
    this.#guard.admitAppend(segments, fence);
    const puts = segments.map(({ firstSequence, value }) => ({
      key: segmentKey.encode({ partition: this.#partition, sequence: firstSequence }),
      value: new Uint8Array(value),
    }));
    await this.#submit("append a segment", () => this.#apply({ puts, deletes: [], ranges: [] }));
  }

  async putRows(write: RowsWrite, fence: Fence): Promise<void> {
    if (this.#isAbandoned) return never();
    this.#guard.admitWrite(fence);
    const deletes: Uint8Array[] = [];
    for (const range of write.ranges) {
      const rows = this.#rows.read({ ...range, limit: RANGE_KEYS_MAX + 1 });
      for (const { key } of rows) deletes.push(key);
      if (deletes.length <= RANGE_KEYS_MAX) continue;
      throw new StoreWriteInvalid(
        `Expected ranges of at most ${RANGE_KEYS_MAX} keys, but they hold more. ` +
          "Split them with splitRange.",
      );
    }
    for (const key of write.deletes) deletes.push(new Uint8Array(key));
    const puts = write.puts.map((put) => ({
      key: new Uint8Array(put.key),
      value: new Uint8Array(put.value),
    }));
    await this.#submit("write rows", () => this.#apply({ puts, deletes, ranges: [] }));
  }

  get(key: Uint8Array): Uint8Array | undefined {
    this.#guard.admit();
    return this.#rows.get(key);
  }

  async read(range: PageRange): Promise<RowPut[]> {
    if (this.#isAbandoned) return never();
    this.#guard.admit();
    return this.#rows.read(range);
  }

  async freeBytes(): Promise<number> {
    if (this.#isAbandoned) return never();
    this.#guard.admit();
    return this.#disk.freeBytes;
  }

  async usedBytes(): Promise<number> {
    if (this.#isAbandoned) return never();
    this.#guard.admit();
    return this.#rows.bytes;
  }

  /** What is removed takes up no room here. */
  async compact(_range: KeyRange, fence: Fence): Promise<void> {
    if (this.#isAbandoned) return never();
    this.#guard.admitWrite(fence);
  }

  async close(): Promise<void> {
    if (this.#isAbandoned) return never();
    if (this.#disk.heldWrites > 0) this.#disk.flush();
    await this.#guard.drain();
    this.#disk.release(this);
  }

  /** Used by the disk: the process of this handle is gone. */
  abandon(): void {
    this.#isAbandoned = true;
    this.#guard.fail("live on", faultError("fail"));
  }

  async #submit(during: string, apply: () => void): Promise<void> {
    await this.#guard.acknowledge(during, this.#disk.submit(apply));
  }

  #apply(write: RowsWrite): void {
    for (const key of write.deletes) this.#rows.delete(key);
    for (const { key, value } of write.puts) this.#rows.put(key, value);
  }
}

/** The answer of a process that is gone. */
function never<T>(): Promise<T> {
  return new Promise(() => undefined);
}
