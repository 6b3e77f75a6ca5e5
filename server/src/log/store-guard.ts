/** The rules that every store handle keeps, whatever stands behind it: fail-stop, fence, order, draining. */

import type { Fence, SegmentWrite } from "./store.js";
import { StoreClosed, StoreFailed, StoreFenced, StoreWriteInvalid } from "./store-errors.js";

/** What a fresh handle begins with. */
export interface GuardStart {
  /** The highest epoch that the store is known to have had; default 0. */
  readonly epoch?: number;
  /** First sequence of the last stored segment; default 0, for none. */
  readonly lastFirstSequence?: number;
  /**
   * True if writes take effect in the order in which they are submitted, and their ends are heard in that order;
   * default false. See `acknowledge`.
   */
  readonly isOrdered?: boolean;
  /** Called once, when the first write fails, before any caller is told. */
  readonly onWriteFailure?: () => void;
}

/** One handle's state. */
export class StoreGuard {
  #failure: StoreFailed | undefined;
  #isClosed = false;
  #epoch: number;
  #lastFirstSequence: number;
  readonly #isOrdered: boolean;
  readonly #onWriteFailure: () => void;
  readonly #writes = new Set<Promise<void>>();
  readonly #reads = new Set<Promise<unknown>>();

  constructor(start: GuardStart = {}) {
    this.#epoch = start.epoch ?? 0;
    this.#lastFirstSequence = start.lastFirstSequence ?? 0;
    this.#isOrdered = start.isOrdered ?? false;
    this.#onWriteFailure = start.onWriteFailure ?? nothing;
  }

  /** The first failure, if there was one. */
  get failure(): StoreFailed | undefined {
    return this.#failure;
  }

  /** Throws `StoreFailed` or `StoreClosed` unless the handle may be used. */
  admit(): void {
    if (this.#failure !== undefined) throw this.#failure;
    if (this.#isClosed) throw new StoreClosed();
  }

  /** As `admit`, and throws `StoreFenced` for an epoch older than any seen; a newer one becomes the bar. */
  admitWrite(fence: Fence): void {
    this.admit();
    if (fence.epoch < this.#epoch) throw new StoreFenced(fence.epoch, this.#epoch);
    this.#epoch = fence.epoch;
  }

  /** Makes an epoch the bar, unless a newer one is. */
  raiseEpoch(epoch: number): void {
    this.#epoch = Math.max(this.#epoch, epoch);
  }

  /** As `admitWrite`, and throws `StoreWriteInvalid` unless the segments rise above all before them. */
  admitAppend(segments: readonly SegmentWrite[], fence: Fence): void {
    this.admitWrite(fence);
    let last = this.#lastFirstSequence;
    for (const { firstSequence } of segments) {
      if (!Number.isSafeInteger(firstSequence) || firstSequence <= last) {
        throw new StoreWriteInvalid(
          `Expected a segment above sequence ${last}, but it begins at ${firstSequence}. ` +
            "A stored segment is never replaced.",
        );
      }
      last = firstSequence;
    }
    this.#lastFirstSequence = last;
  }

  /** Makes the failure of the handle, once; the first one stays. */
  fail(during: string, cause: unknown): StoreFailed {
    this.#failure ??= new StoreFailed(during, cause);
    return this.#failure;
  }

  /**
   * Waits for a write that has been handed to the disk, and for those that were under way beside it.
   *
   * The last part matters. LevelDB 1.20 goes on after a failed append, but what it writes then is lost at the
   * next open (its log's block offset no longer fits). Two writes run in two threads, so the good news of the
   * later one may come first; it must not be believed before the earlier one has spoken.
   */
  async acknowledge(during: string, written: Promise<void>): Promise<void> {
    const settled: Promise<void> = written.then(
      () => {
        this.#writes.delete(settled);
      },
      (cause: unknown) => {
        this.#writes.delete(settled);
        if (this.#failure === undefined) this.#onWriteFailure();
        this.fail(during, cause);
      },
    );
    this.#writes.add(settled);
    await settled;
    if (!this.#isOrdered && this.#failure === undefined && this.#writes.size > 0) {
      await Promise.all(this.#writes);
    }
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** Waits for a read; its failure is the handle's. */
  async answer<T>(during: string, reading: Promise<T>): Promise<T> {
    this.#reads.add(reading);
    try {
      return await reading;
    } catch (cause) {
      throw this.fail(during, cause);
    } finally {
      this.#reads.delete(reading);
    }
  }

  /** Refuses what comes, and waits for what is under way, however it ends. */
  async drain(): Promise<void> {
    this.#isClosed = true;
    while (this.#writes.size + this.#reads.size > 0) {
      await Promise.allSettled([...this.#writes, ...this.#reads]);
    }
  }
}

function nothing(): void {
  // The default of a hook.
}
