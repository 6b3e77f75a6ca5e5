/**
 * The port between the kernel and what keeps its bytes. The kernel knows nothing else of the disk: it
 * appends segments, puts rows, and reads. Segments and rows are never in one batch as far as the kernel
 * may assume, so that a shared log and a shared row store can stand behind the same port later.
 *
 * Every implementation keeps these rules; `test/contract/store-contract.ts` checks them:
 * - A write that resolved survives a process kill and a power cut.
 * - A write is atomic: all of it is there after a crash, or nothing.
 * - A write that was acknowledged never overtakes a failed one: when two writes run at once and one
 *   fails, the other is acknowledged only if it cannot have been written after the failure.
 * - Fail-stop: after the first error of `append`, `putRows`, `get` or `read`, every later call of the
 *   handle is answered with `StoreFailed`. Only a new handle goes on. Damage that a read meets is no such error: it throws
 *   `StoreDamaged`, and what is not damaged is read on.
 * - Calls on a closed handle are answered with `StoreClosed`; `close` waits for what is under way.
 */

/** One commit: the value that `SegmentBuilder.finish` made, under the sequence of its first event. */
export interface SegmentWrite {
  /** A safe integer ≥ 1, above every first sequence appended before. */
  readonly firstSequence: number;
  readonly value: Uint8Array;
}

/** One row: a key of `key.ts` and its value. */
export interface RowPut {
  readonly key: Uint8Array;
  readonly value: Uint8Array;
}

/** All keys from `gte` (inclusive) to `lt` (exclusive), in byte order. */
export interface KeyRange {
  readonly gte: Uint8Array;
  readonly lt: Uint8Array;
}

/**
 * Rows that change together. Applied in the order ranges, deletes, puts: a put inside a deleted range
 * stays. The horizon is one of the puts (a meta row), so it moves in the same batch.
 */
export interface RowsWrite {
  readonly puts: readonly RowPut[];
  readonly deletes: readonly Uint8Array[];
  /**
   * Removes every key of the range that was stored when the call began. All ranges of one call may
   * together hold at most `RANGE_KEYS_MAX` keys, since their keys are collected into the one batch;
   * split a larger range with `splitRange`. The caller puts nothing into a range while it is removed.
   */
  readonly ranges: readonly KeyRange[];
}

/** Who writes: the epoch of the store that the kernel began with. An older epoch is refused. */
export interface Fence {
  readonly epoch: number;
}

/** One page of a scan. */
export interface PageRange extends KeyRange {
  /** At most this many rows; default `PAGE_ROWS_DEFAULT`. A shorter page is the last one. */
  readonly limit?: number;
  /** From the end of the range backwards; default false. */
  readonly reverse?: boolean;
}

/** The most keys that the ranges of one `putRows` may hold together (about 0.5 MB of batch). */
export const RANGE_KEYS_MAX: number = 20_000;

/** Rows of a page when the caller names no limit. */
export const PAGE_ROWS_DEFAULT: number = 1_000;

/** What keeps the bytes of one partition. */
export interface Store {
  /**
   * Appends segments in one synced batch. Resolves when they are durable.
   * Errors: `StoreFailed` (outcome unknown), `StoreClosed`, `StoreFenced`, `StoreWriteInvalid` (not above
   * the last first sequence); in the last three nothing was written.
   */
  append(segments: readonly SegmentWrite[], fence: Fence): Promise<void>;

  /**
   * Writes rows in one synced batch. Resolves when they are durable. May run beside `append`.
   * Errors: as `append`; `StoreWriteInvalid` when the ranges hold more than `RANGE_KEYS_MAX` keys.
   */
  putRows(write: RowsWrite, fence: Fence): Promise<void>;

  /**
   * The value of one key, or undefined. Synchronous: a point read of a warm store costs 2–3 µs, less than
   * a turn of the event loop. Throws `StoreFailed`, `StoreClosed` or `StoreDamaged`.
   */
  get(key: Uint8Array): Uint8Array | undefined;

  /** One page of a range, in key order. Errors: `StoreFailed`, `StoreClosed`, `StoreDamaged`. */
  read(range: PageRange): Promise<RowPut[]>;

  /** Bytes that the file system still gives to this process. Errors: `StoreFailed`, `StoreClosed`. */
  freeBytes(): Promise<number>;

  /** Bytes that the store takes up now, what is removed and not yet given back included. Errors: `StoreFailed`, `StoreClosed`. */
  usedBytes(): Promise<number>;

  /**
   * Gives the room of what was removed from a range back to the disk: until then a removed row takes up more room than before. No row
   * changes. It may take seconds for each 100 MB of the range, beside reads and writes. After a crash in its middle the room may be taken
   * until the next call. Keys of the range are complete keys of `key.ts`. Errors: `StoreFailed`, `StoreClosed`, `StoreFenced`.
   */
  compact(range: KeyRange, fence: Fence): Promise<void>;

  /** Waits for what is under way, then lets go of the disk. Safe to call again. */
  close(): Promise<void>;
}
