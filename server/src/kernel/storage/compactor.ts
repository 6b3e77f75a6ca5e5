import { equalBytes } from "../../log/bytes.js";
import type { Fence, KeyRange, Store } from "../../log/store.js";
import { StoreClosed } from "../../log/store-errors.js";
import type { Cancellable, Timers } from "../ports.js";

/** When room is given back. */
export interface CompactOptions {
  /** Removed bytes from which on a range is compacted at once. Default 16 MiB. */
  readonly beginBytes?: number;
  /** How long fewer bytes wait, in ms. Default 60,000. */
  readonly beginAgeMs?: number;
  /** Rest after a compaction, as a multiple of how long it took; at least 1 s. Default 4. */
  readonly restFactor?: number;
}

/** What a compactor needs. */
export interface CompactorParts {
  readonly store: Store;
  readonly fence: Fence;
  /** Timers of what the kernel does for itself. */
  readonly timers: Timers;
  /** Told of a failure of the store. */
  readonly fail: (error: unknown) => void;
  readonly options?: CompactOptions;
}

/** What a compactor has done since it was made. */
export interface CompactStatus {
  /** Compactions that are over. */
  readonly rounds: number;
  /** Removed bytes whose room they gave back, as those who removed them counted. */
  readonly bytes: number;
  /** Removed bytes that still wait. */
  readonly waitingBytes: number;
}

interface Piece {
  range: KeyRange;
  bytes: number;
}

const mib = 1024 * 1024;
const restMsMin = 1000;
/** Kind and partition. */
const headBytes = 3;

/**
 * Gives the room of removed rows back to the disk, in the background: a removed row takes up room until its range is compacted. One range at
 * a time, with a rest behind each, so that commits have the disk for most of the time. What waits when the process ends is told again by
 * whoever starts the next one: nothing is lost but time.
 */
export class Compactor {
  readonly #parts: CompactorParts;
  readonly #options: Required<CompactOptions>;
  readonly #pieces: Piece[] = [];
  #rounds = 0;
  #bytes = 0;
  #isClosed = false;
  #isResting = false;
  #running: Promise<void> | undefined;
  readonly #timers: { age: Cancellable | undefined; rest: Cancellable | undefined } = {
    age: undefined,
    rest: undefined,
  };

  constructor(parts: CompactorParts) {
    this.#parts = parts;
    this.#options = {
      beginBytes: 16 * mib,
      beginAgeMs: 60_000,
      restFactor: 4,
      ...parts.options,
    };
  }

  /** What it has done, and what waits. */
  get status(): CompactStatus {
    const waitingBytes = this.#pieces.reduce((sum, { bytes }) => sum + bytes, 0);
    return { rounds: this.#rounds, bytes: this.#bytes, waitingBytes };
  }

  /**
   * Rows of a range were removed, durably. Ranges of one kind are gathered until they are worth it.
   * @param bytes what their keys and values had, about; 0: not known, it waits for its age.
   */
  removed(range: KeyRange, bytes: number): void {
    if (this.#isClosed) {
      return;
    }
    const last = this.#pieces.findLast((piece) => isSameKind(piece.range, range));
    if (last === undefined || last.bytes >= this.#options.beginBytes) {
      this.#pieces.push({ range, bytes });
    } else {
      last.range = { gte: least(last.range.gte, range.gte), lt: most(last.range.lt, range.lt) };
      last.bytes += bytes;
    }
    this.#consider();
  }

  /** Ends it; resolves when nothing is under way. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#timers.age?.cancel();
    this.#timers.rest?.cancel();
    await this.#running;
  }

  #consider(isOld = false): void {
    if (this.#isClosed || this.#isResting || this.#running !== undefined) {
      return;
    }
    const at = this.#pieces.findIndex(({ bytes }) => isOld || bytes >= this.#options.beginBytes);
    const [piece] = at === -1 ? [] : this.#pieces.splice(at, 1);
    if (piece !== undefined) {
      this.#running = this.#compact(piece).catch(this.#parts.fail);
    } else if (this.#pieces.length > 0) {
      this.#timers.age ??= this.#parts.timers.after(this.#options.beginAgeMs, () => {
        this.#timers.age = undefined;
        this.#consider(true);
      });
    }
  }

  async #compact({ range, bytes }: Piece): Promise<void> {
    const { store, fence, timers } = this.#parts;
    const began = performance.now();
    try {
      await store.compact(range, fence);
    } catch (error) {
      if (error instanceof StoreClosed) {
        return;
      }
      throw error;
    }
    this.#rounds++;
    this.#bytes += bytes;
    this.#running = undefined;
    this.#isResting = true;
    const restMs = Math.max(restMsMin, (performance.now() - began) * this.#options.restFactor);
    this.#timers.rest = timers.after(Math.ceil(restMs), () => {
      this.#isResting = false;
      this.#consider();
    });
  }
}

function isSameKind(a: KeyRange, b: KeyRange): boolean {
  return equalBytes(a.gte.subarray(0, headBytes), b.gte.subarray(0, headBytes));
}

function least(a: Uint8Array, b: Uint8Array): Uint8Array {
  return Buffer.compare(a, b) <= 0 ? a : b;
}

function most(a: Uint8Array, b: Uint8Array): Uint8Array {
  return Buffer.compare(a, b) >= 0 ? a : b;
}
