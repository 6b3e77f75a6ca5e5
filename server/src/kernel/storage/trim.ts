import { segmentKey } from "../../log/key.js";
import { anchorPut } from "../../log/meta.js";
import type { ChainPoint } from "../../log/segment.js";
import type { Fence, Store } from "../../log/store.js";
import type { LogMarks, LogRetention } from "./log-marks.js";

/** What trimming needs. */
export interface TrimmerParts {
  readonly store: Store;
  readonly fence: Fence;
  readonly partition: number;
  readonly marks: LogMarks;
  readonly anchor: ChainPoint;
  readonly retention: LogRetention;
}

/**
 * Removes segments from the front of the log: those that lie behind the horizon and are older than the log is kept. Where it begins
 * moves in the same batch, so that the chain can be verified from there.
 */
export class Trimmer {
  readonly #parts: TrimmerParts;
  #anchor: ChainPoint;
  #running: Promise<void> | undefined;

  constructor(parts: TrimmerParts) {
    this.#parts = parts;
    this.#anchor = parts.anchor;
  }

  /** The point before the first segment that is kept. */
  get anchor(): ChainPoint {
    return this.#anchor;
  }

  /** Trims in the background if there is something to trim and nothing under way. A failure is given to `fail`. */
  trim(horizon: ChainPoint, nowMs: number, fail: (error: unknown) => void): void {
    if (this.#running !== undefined) {
      return;
    }
    const cut = this.#parts.marks.cut(horizon, nowMs, this.#parts.retention);
    if (cut !== undefined) {
      this.#running = this.#removeUpTo(cut).catch(fail);
    }
  }

  /** Resolves when nothing is under way. */
  async idle(): Promise<void> {
    await this.#running;
  }

  async #removeUpTo(cut: ChainPoint): Promise<void> {
    const { store, fence, partition, marks } = this.#parts;
    const range = {
      gte: segmentKey.encode({ partition, sequence: this.#anchor.sequence }),
      lt: segmentKey.encode({ partition, sequence: cut.sequence + 1 }),
    };
    await store.putRows({ puts: [anchorPut(partition, cut)], deletes: [], ranges: [range] }, fence);
    this.#anchor = cut;
    marks.forget(cut);
    this.#running = undefined;
  }
}
