/**
 * How many runs have not ended. Runs that begin or end are counted as they do; those that a start finds are counted once, either from
 * their row in the index or, when they are read before the count has come to it, from their state.
 */
export class OpenRuns {
  #count = 0;
  #isKnown = false;

  /** The number; undefined until a start has counted what it found. */
  get count(): number | undefined {
    return this.#isKnown ? this.#count : undefined;
  }

  /** A run began, was found open, or is open again. */
  add(): void {
    this.#count++;
  }

  /** A run has ended. */
  remove(): void {
    this.#count--;
  }

  /** Everything that the start found is counted. */
  known(): void {
    this.#isKnown = true;
  }
}
