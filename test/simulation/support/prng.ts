/** A seeded source of chance: the same seed draws the same numbers. "sfc32" of PractRand, by Chris Doty-Humphrey. */
export class Prng {
  #a: number;
  #b: number;
  #c: number;
  #counter = 1;

  /** @param seed any number; its lower 32 bits count. */
  constructor(seed: number) {
    this.#a = seed | 0;
    this.#b = 0x9e3779b9;
    this.#c = 0x243f6a88;
    for (let round = 0; round < 12; round++) {
      this.#next();
    }
  }

  #next(): number {
    const drawn = (((this.#a + this.#b) | 0) + this.#counter) | 0;
    this.#counter = (this.#counter + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + drawn) | 0;
    return drawn >>> 0;
  }

  /** A number from 0 (included) to 1. */
  fraction(): number {
    return this.#next() / 2 ** 32;
  }

  /** A whole number from 0 to `below` - 1. */
  below(below: number): number {
    return Math.floor(this.fraction() * below);
  }

  /** A whole number from `from` to `to`, both included. */
  between(from: number, to: number): number {
    return from + this.below(to - from + 1);
  }

  /** True in this share of cases. */
  chance(share: number): boolean {
    return this.fraction() < share;
  }

  /** One of the items. */
  pick<T>(items: readonly T[]): T {
    const item = items[this.below(items.length)];
    if (item === undefined) {
      throw new Error("expected something to pick from, but there is nothing");
    }
    return item;
  }

  /** A length around the mean that is mostly short and now and then long. */
  around(mean: number): number {
    return Math.max(1, Math.round(-Math.log(1 - this.fraction()) * mean));
  }

  /** Random bytes. */
  bytes(count: number): Uint8Array {
    return Uint8Array.from({ length: count }, () => this.below(256));
  }

  /** Another source, which is not disturbed by what this one draws later. */
  fork(): Prng {
    return new Prng(this.#next());
  }
}
