import type { ChainPoint } from "../../log/segment.js";
import type { Fence, Store } from "../../log/store.js";
import type { Loop, LoopListener } from "../loop.js";
import type { Timers } from "../ports.js";
import type { Residency } from "../residency.js";
import type { Resident } from "../resident.js";
import type { Turn } from "../turn.js";
import type { Recovery } from "./recovery.js";

/** Bounds of the checkpointer; every one has a default. */
export interface CheckpointOptions {
  /** Unsaved bytes of events that the log's tail may have before new starts wait at twice as many. Default 32 MiB. */
  readonly lagBytes?: number;
  /** Residents that are kept. Default 50,000. */
  readonly residentsMax?: number;
  /** Segments behind the horizon that are kept, in bytes. Default 256 MiB. */
  readonly logRetentionBytes?: number;
  /** How long segments behind the horizon are kept at most, in ms. Default 7 days. */
  readonly logRetentionMs?: number;
}

/** What the checkpointer is built from. */
export interface CheckpointerParts {
  readonly store: Store;
  readonly fence: Fence;
  readonly recovery: Recovery;
  readonly residency: Residency;
  readonly timers: Timers;
  readonly options?: CheckpointOptions;
}

/** Writes the rows of changed runs behind the log, and moves the horizon. Give it to the loop as (part of) its listener. */
export class Checkpointer implements LoopListener {
  readonly #parts: CheckpointerParts;

  constructor(parts: CheckpointerParts) {
    this.#parts = parts;
  }

  /** Up to where all runs are stored in rows. */
  get horizon(): ChainPoint {
    return this.#parts.recovery.meta.horizon;
  }

  /** True while new starts must wait. When it becomes false again, `loop.resumeStarts()` is called. */
  isLagging(): boolean {
    return false;
  }

  /** @param pendingHead where the log ends with what was handed to the store: `committer.pendingHead`. */
  attach(loop: Loop, pendingHead: () => ChainPoint): void {
    throw new Error(`${loop.durableSequence} ${pendingHead().sequence}`);
  }

  unsaved(residents: readonly Resident[], bytes: number): void {
    throw new Error(`${residents.length} ${bytes}`);
  }

  durable(turn: Turn): void {
    throw new Error(`${turn.eventCount}`);
  }

  failed(error: Error): void {
    throw error;
  }

  /** Writes what is unsaved and stops. Call when the loop is drained, before it is closed; it commits one last seal. */
  async close(): Promise<void> {
    await Promise.resolve();
  }
}
