import type { Resident } from "../resident.js";
import type { Tail } from "./tail.js";

/** What becomes of a run that a batch looks at. */
export type Taken = "taken" | "skip" | "enough";

/**
 * Runs with events that are in no rows, in the order of the first of these events: runs are added when a commit was handed over, and
 * leave when a batch takes them, so the order in which they came is that order. Those of the tail, which are read in any order, come
 * before all others.
 */
export class DirtyRuns {
  readonly #tail: Tail;
  readonly #recovered = new Set<Resident>();
  readonly #dirty = new Set<Resident>();

  constructor(tail: Tail) {
    this.#tail = tail;
  }

  /** True when there is nothing to save in memory. */
  get isEmpty(): boolean {
    return this.#recovered.size === 0 && this.#dirty.size === 0;
  }

  /** True while runs of the tail are not saved: until then nothing is known of the oldest but that it is in the tail. */
  get isRecovering(): boolean {
    return this.#tail.size > 0 || this.#recovered.size > 0;
  }

  /** The run that is to be saved first. */
  get oldest(): Resident | undefined {
    for (const resident of this.#recovered) {
      return resident;
    }
    for (const resident of this.#dirty) {
      return resident;
    }
    return undefined;
  }

  /** A run has new slices. */
  add(resident: Resident): void {
    if (!this.#recovered.has(resident)) {
      this.#dirty.add(resident);
    }
  }

  /** A run of the tail was read. */
  addRecovered(resident: Resident): void {
    this.#recovered.add(resident);
  }

  /** Offers runs in order until it is enough; those that are taken leave. */
  take(look: (resident: Resident) => Taken): void {
    for (const runs of [this.#recovered, this.#dirty]) {
      for (const resident of runs) {
        const taken = look(resident);
        if (taken === "enough") {
          return;
        }
        if (taken === "taken") {
          runs.delete(resident);
        }
      }
    }
  }

  /** Once every run of the tail is saved, its rows tell its name. */
  forgetTailWhenSaved(): void {
    if (!this.isRecovering) {
      this.#tail.forgetNames();
    }
  }

  /** Bytes of events that are in no rows. */
  unsavedBytes(): number {
    let bytes = 0;
    for (const runs of [this.#recovered, this.#dirty]) {
      for (const { slices } of runs) {
        for (const slice of slices) {
          bytes += slice.bytes.length;
        }
      }
    }
    return bytes;
  }
}
