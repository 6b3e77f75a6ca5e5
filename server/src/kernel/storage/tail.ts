import type { EventSlice, SegmentSlice } from "../../log/segment.js";

/** What the tail of the log says of one run. */
export interface TailRun {
  readonly slices: EventSlice[];
}

/**
 * What the log holds beyond the horizon: found at start, before any of it is applied. A run leaves it when it is loaded: from then on
 * its slices are the resident's.
 */
export class Tail {
  readonly #runs = new Map<number, TailRun>();
  readonly #names = new Map<string, number>();
  readonly #operations = new Map<string, number>();

  /** Runs that were not loaded yet. */
  get size(): number {
    return this.#runs.size;
  }

  /** Numbers of the runs that were not loaded yet, in the order of their first slice. */
  numbers(): IterableIterator<number> {
    return this.#runs.keys();
  }

  add(slice: SegmentSlice): void {
    const run = this.#runs.get(slice.runNumber);
    if (run === undefined) {
      this.#runs.set(slice.runNumber, { slices: [slice] });
    } else {
      run.slices.push(slice);
    }
  }

  /** Remembers a run that was begun in the tail. */
  addName(namespace: string, runId: string, number: number): void {
    this.#names.set(nameOf(namespace, runId), number);
  }

  /** Remembers an operation that was declared or proposed in the tail. Keys hold their namespace, so they are unique in the store. */
  addOperation(operationKey: string, number: number): void {
    this.#operations.set(operationKey, number);
  }

  has(number: number): boolean {
    return this.#runs.has(number);
  }

  /** Slices of a run that was not loaded yet. */
  slices(number: number): readonly EventSlice[] | undefined {
    return this.#runs.get(number)?.slices;
  }

  /** Takes the slices of a run: it is loaded now. */
  take(number: number): EventSlice[] {
    const run = this.#runs.get(number);
    this.#runs.delete(number);
    return run?.slices ?? [];
  }

  findRun(namespace: string, runId: string): number | undefined {
    return this.#names.get(nameOf(namespace, runId));
  }

  findOperation(operationKey: string): number | undefined {
    return this.#operations.get(operationKey);
  }

  /** Forgets the names: every run of the tail is stored in rows. */
  forgetNames(): void {
    this.#names.clear();
    this.#operations.clear();
  }
}

// Ids hold no NUL, so it is injective.
function nameOf(namespace: string, runId: string): string {
  return `${namespace}\0${runId}`;
}
