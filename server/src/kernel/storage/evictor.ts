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
/** What may come into memory between two looks, as a part of a bound. */
const addedBetweenLooks = 0.1;
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
  /** Estimated bytes that came, or became clean, since the last look. */
  #addedBytes = 0;

  constructor(residency: Residency, bounds: EvictorBounds) {
    this.#residency = residency;
    this.#bounds = bounds;
  }

  /** A run was read, or may go from now on. True when that is enough for a look. */
  added(resident: Resident): boolean {
    this.#addedBytes += bytesOf(resident);
    return this.#hasAdded;
  }

  get #hasAdded(): boolean {
    return this.#addedBytes > this.#bounds.bytesMax * addedBetweenLooks;
  }

  /** Looks and evicts if needed. Call between turns: nobody may hold a resident meanwhile. */
  relieve(nowMs: number): void {
    const isFull = this.#residency.size > this.#bounds.residentsMax;
    const restMs = isFull ? lookWhenFullEveryMs : lookEveryMs;
    if (!this.#hasAdded && nowMs - this.#lookedMs < restMs) {
      return;
    }
    this.#lookedMs = nowMs;
    this.#addedBytes = 0;
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
