import { segmentKey } from "../../log/key.js";
import { anchorPut } from "../../log/meta.js";
import type { ChainPoint } from "../../log/segment.js";
import type { Fence, Store } from "../../log/store.js";
import type { Cancellable, Timers } from "../ports.js";
import type { Compactor } from "./compactor.js";
import type { LogMark, LogMarks } from "./log-marks.js";
import type { LogRetention } from "./log-retention.js";

/** What trimming needs. */
export interface TrimmerParts {
  readonly store: Store;
  readonly fence: Fence;
  readonly partition: number;
  readonly marks: LogMarks;
  readonly anchor: ChainPoint;
  readonly retention: LogRetention;
  /** Told of what was removed, so that its room is given back. Default: it is not. */
  readonly compactor?: Compactor;
  /** Up to where the log may be cut. */
  readonly trimmable: () => ChainPoint;
  readonly now: () => number;
  readonly fail: (error: unknown) => void;
}

/** The log is looked at this often, at most and at least, in ms: it grows old also while nothing happens. */
const lookMs = { min: 1000, max: 3_600_000 } as const;

/**
 * Removes segments from the front of the log: those that lie behind the horizon and are older than the log is kept. Where it begins
 * moves in the same batch, so that the chain can be verified from there.
 */
export class Trimmer {
  readonly #parts: TrimmerParts;
  #anchor: ChainPoint;
  #running: Promise<void> | undefined;
  #timer: Cancellable | undefined;
  #isClosed = false;

  constructor(parts: TrimmerParts) {
    this.#parts = parts;
    this.#anchor = parts.anchor;
  }

  /** The point before the first segment that is kept. */
  get anchor(): ChainPoint {
    return this.#anchor;
  }

  /** Begins to look by itself now and then, and has what an earlier process removed given back. */
  begin(timers: Timers): void {
    const { partition, compactor } = this.#parts;
    if (this.#anchor.sequence > 0) {
      const { gte } = segmentKey.range({ partition });
      const lt = segmentKey.encode({ partition, sequence: this.#anchor.sequence + 1 });
      compactor?.removed({ gte, lt }, 0);
    }
    this.#lookAgain(timers);
  }

  /** Trims in the background if there is something to trim and nothing under way. */
  trim(): void {
    if (this.#running === undefined && !this.#isClosed && this.#next() !== undefined) {
      this.#running = this.#trimAll().catch(this.#parts.fail);
    }
  }

  /** Ends it; resolves when nothing is under way. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#timer?.cancel();
    await this.#running;
  }

  #lookAgain(timers: Timers): void {
    const { retention } = this.#parts;
    const ms = Math.min(lookMs.max, Math.max(lookMs.min, Math.ceil(retention.ms / 8)));
    this.#timer = timers.after(ms, () => {
      this.trim();
      this.#lookAgain(timers);
    });
  }

  #next(): LogMark | undefined {
    const { marks, retention, trimmable, now } = this.#parts;
    return marks.cut(trimmable(), now(), retention);
  }

  /** One mark at a time: each batch is small, and commits come between. */
  async #trimAll(): Promise<void> {
    for (let cut = this.#next(); cut !== undefined && !this.#isClosed; cut = this.#next()) {
      await this.#removeUpTo(cut);
    }
    this.#running = undefined;
  }

  async #removeUpTo({ point: cut, endBytes }: LogMark): Promise<void> {
    const { store, fence, partition, marks, compactor } = this.#parts;
    const range = {
      gte: segmentKey.encode({ partition, sequence: this.#anchor.sequence }),
      lt: segmentKey.encode({ partition, sequence: cut.sequence + 1 }),
    };
    await store.putRows({ puts: [anchorPut(partition, cut)], deletes: [], ranges: [range] }, fence);
    this.#anchor = cut;
    const bytes = endBytes - marks.beginBytes;
    marks.forget(cut);
    compactor?.removed(range, bytes);
  }
}
