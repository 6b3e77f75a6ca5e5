const pageNumbers = 32_768;

/** A set of whole numbers ≥ 0 that takes a bit for each, in pages of 4 KiB where there are any. Numbers are never taken out. */
export class NumberSet {
  readonly #pages = new Map<number, Uint32Array>();

  add(number: number): void {
    const index = Math.floor(number / pageNumbers);
    let page = this.#pages.get(index);
    if (page === undefined) {
      page = new Uint32Array(pageNumbers / 32);
      this.#pages.set(index, page);
    }
    const at = number % pageNumbers;
    page[at >>> 5] = (page[at >>> 5] ?? 0) | (1 << (at & 31));
  }

  /** All numbers, ascending. */
  *values(): IterableIterator<number> {
    for (const index of [...this.#pages.keys()].sort((one, other) => one - other)) {
      const page = this.#pages.get(index) ?? new Uint32Array(0);
      for (const [word, bits] of page.entries()) {
        for (let bit = 0; bits >>> bit !== 0 && bit < 32; bit++) {
          if (((bits >>> bit) & 1) !== 0) {
            yield index * pageNumbers + word * 32 + bit;
          }
        }
      }
    }
  }

  has(number: number): boolean {
    const page = this.#pages.get(Math.floor(number / pageNumbers));
    const at = number % pageNumbers;
    return page !== undefined && ((page[at >>> 5] ?? 0) & (1 << (at & 31))) !== 0;
  }
}
