import { damageIn, StoreError } from "../../log/store-errors.js";
import type { Loop } from "../loop.js";
import type { Cancellable, Timers } from "../ports.js";
import type { RetentionWalk } from "./retention-walk.js";
import type { Sweeper } from "./sweeper.js";

/** What it needs. */
export interface RetentionKeeperParts {
  readonly loop: Loop;
  readonly timers: Timers;
  readonly sweeper: Sweeper;
  readonly walk: RetentionWalk;
}

/** How soon what was deleted is swept, in ms. */
const soonMs = 100;

/** Has what is due deleted and what is deleted removed, again and again. Begins when all that is open is known. */
export class RetentionKeeper {
  readonly #parts: RetentionKeeperParts;
  #walkTimer: Cancellable | undefined;
  #sweepTimer: Cancellable | undefined;
  #walking: Promise<void> | undefined;
  #isClosed = false;

  constructor(parts: RetentionKeeperParts) {
    this.#parts = parts;
  }

  /** Begins: sweeps what an earlier process left, and looks for what is due. */
  start(): void {
    if (!this.#isClosed) {
      void this.#parts.sweeper.sweep();
      this.#walkAgain(soonMs);
    }
  }

  /** Something was deleted, and rows say so: it is removed soon. */
  sweepSoon(): void {
    if (this.#isClosed) {
      return;
    }
    this.#sweepTimer ??= this.#parts.timers.after(soonMs, () => {
      this.#sweepTimer = undefined;
      void this.#parts.sweeper.sweep();
    });
  }

  /** Ends it; resolves when nothing is under way. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#walkTimer?.cancel();
    this.#sweepTimer?.cancel();
    await this.#parts.sweeper.close();
    await this.#walking;
  }

  #walkAgain(afterMs: number): void {
    this.#walkTimer = this.#parts.timers.after(afterMs, () => {
      this.#walking = this.#walk();
    });
  }

  async #walk(): Promise<void> {
    const { walk, sweeper, loop } = this.#parts;
    try {
      await walk.walk();
      await sweeper.sweep();
    } catch (error) {
      if (damageIn(error) !== undefined) {
        loop.faults.record(0, "retention", error);
      } else if (!(sweeper.isStopped && error instanceof StoreError)) {
        loop.fail(error);
      }
    }
    if (!sweeper.isStopped) {
      this.#walkAgain(sweeper.options.everyMs);
    }
  }
}
