import type { Residency } from "../residency.js";
import type { Resident } from "../resident.js";

/** Bounds of what is kept in memory. */
export interface EvictorBounds {
  /** Runs. */
  readonly residentsMax: number;
  /** Estimated bytes of their states. */
  readonly bytesMax: number;
}

/** Part of a bound that is left after an eviction, so that the next one is not due at once. */
const leftAfter = 0.9;
/** How often the bytes are added up at most, in ms. */
const lookEveryMs = 1000;
/** The same while there are too many runs: what is dirty cannot go, and looking again at once is of no use. */
const lookWhenFullEveryMs = 100;

/**
 * Keeps the runs in memory within bounds: the clean ones that were used least recently go. Dirty ones cannot go before they are saved,
 * and are bounded by how far the checkpointer may lag.
 */
export class Evictor {
  readonly #residency: Residency;
  readonly #bounds: EvictorBounds;
  #lookedMs = 0;

  constructor(residency: Residency, bounds: EvictorBounds) {
    this.#residency = residency;
    this.#bounds = bounds;
  }

  /** Looks and evicts if needed. Call between turns: nobody may hold a resident meanwhile. */
  relieve(nowMs: number): void {
    const isFull = this.#residency.size > this.#bounds.residentsMax;
    if (nowMs - this.#lookedMs < (isFull ? lookWhenFullEveryMs : lookEveryMs)) {
      return;
    }
    this.#lookedMs = nowMs;
    let bytes = 0;
    for (const resident of this.#residency.values()) {
      bytes += bytesOf(resident);
    }
    if (isFull || bytes > this.#bounds.bytesMax) {
      this.#evict(bytes);
    }
  }

  #evict(bytes: number): void {
    const clean: Resident[] = [];
    for (const resident of this.#residency.values()) {
      if (!resident.isDirty) {
        clean.push(resident);
      }
    }
    clean.sort((a, b) => a.lastUsed - b.lastUsed);
    let count = this.#residency.size;
    let left = bytes;
    for (const resident of clean) {
      const fits =
        count <= this.#bounds.residentsMax * leftAfter && left <= this.#bounds.bytesMax * leftAfter;
      if (fits) {
        return;
      }
      count--;
      left -= bytesOf(resident);
      this.#residency.evict(resident);
    }
  }
}

/** Rough: objects of a state take several times the bytes of its rows. */
function bytesOf({ run, stored }: Resident): number {
  return 1500 + stored.bytes * 3 + (run.tasks.length + run.operations.length) * 300;
}
