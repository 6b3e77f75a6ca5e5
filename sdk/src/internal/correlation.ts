const CORRELATION_MAX = 0xffff_ffff;

/** Hands out correlation numbers: from 1, never 0, never one that is still in use. */
export class Correlations {
  #last = 0;

  /** The next free number. */
  next(inUse: { has(correlation: number): boolean }): number {
    do {
      this.#last = this.#last === CORRELATION_MAX ? 1 : this.#last + 1;
    } while (inUse.has(this.#last));
    return this.#last;
  }
}
