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
  readonly #recovered = new Queue();
  readonly #dirty = new Queue();

  constructor(tail: Tail) {
    this.#tail = tail;
  }

  /** True when there is nothing to save in memory. */
  get isEmpty(): boolean {
    return this.oldest === undefined;
  }

  /** True while runs of the tail are not saved: until then nothing is known of the oldest but that it is in the tail. */
  get isRecovering(): boolean {
    return this.#tail.size > 0 || this.#recovered.first !== undefined;
  }

  /** The run that is to be saved first. */
  get oldest(): Resident | undefined {
    return this.#recovered.first ?? this.#dirty.first;
  }

  /** A run has new slices. */
  add(resident: Resident): void {
    if (!resident.isQueued) {
      this.#dirty.push(resident);
    }
  }

  /** A run of the tail was read. */
  addRecovered(resident: Resident): void {
    this.#recovered.push(resident);
  }

  /** Offers runs in order until it is enough; those that are taken leave. */
  take(look: (resident: Resident) => Taken): void {
    if (this.#recovered.take(look)) {
      this.#dirty.take(look);
    }
  }

  /** Once every run of the tail is saved, its rows tell its name. */
  forgetTailWhenSaved(): void {
    if (!this.isRecovering) {
      this.#tail.forgetNames();
    }
  }

  /** Every run that waits to be saved. */
  *values(): Generator<Resident, void, undefined> {
    yield* this.#recovered.values();
    yield* this.#dirty.values();
  }

  /** Bytes of events that are in no rows. */
  unsavedBytes(): number {
    return this.#recovered.unsavedBytes() + this.#dirty.unsavedBytes();
  }
}

/** Bytes of the events of a run that are in no rows. */
export function unsavedBytesOf({ slices }: Resident): number {
  let sum = 0;
  for (const { bytes } of slices) {
    sum += bytes.length;
  }
  return sum;
}

/** Runs in order. What is taken from its front costs nothing more, however long it is. */
class Queue {
  #runs: Resident[] = [];
  #head = 0;

  get first(): Resident | undefined {
    return this.#runs[this.#head];
  }

  push(resident: Resident): void {
    resident.isQueued = true;
    this.#runs.push(resident);
  }

  /** False once it is enough. Runs that are skipped stay at the front, in order. */
  take(look: (resident: Resident) => Taken): boolean {
    const skipped: Resident[] = [];
    let at = this.#head;
    let isOn = true;
    for (let next = this.#runs[at]; next !== undefined && isOn; next = this.#runs[at]) {
      const taken = look(next);
      isOn = taken !== "enough";
      if (isOn) {
        at++;
      }
      if (taken === "taken") {
        next.isQueued = false;
      } else if (taken === "skip") {
        skipped.push(next);
      }
    }
    this.#head = at - skipped.length;
    for (const [index, resident] of skipped.entries()) {
      this.#runs[this.#head + index] = resident;
    }
    this.#compact();
    return isOn;
  }

  *values(): Generator<Resident, void, undefined> {
    for (let at = this.#head; at < this.#runs.length; at++) {
      const resident = this.#runs[at];
      if (resident !== undefined) {
        yield resident;
      }
    }
  }

  unsavedBytes(): number {
    let bytes = 0;
    for (const resident of this.values()) {
      bytes += unsavedBytesOf(resident);
    }
    return bytes;
  }

  /** Lets go of what was taken. */
  #compact(): void {
    if (this.#head * 2 >= this.#runs.length) {
      this.#runs = this.#runs.slice(this.#head);
      this.#head = 0;
    }
  }
}
