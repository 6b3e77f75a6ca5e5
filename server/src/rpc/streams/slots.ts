/**
 * Items whose answer is awaited, by small numbers that are used again: the kernel is given the number with the command, and nothing is
 * allocated for it.
 */
export class Slots<T> {
  readonly #items: (T | undefined)[] = [];
  readonly #free: number[] = [];

  /** Items that are awaited. */
  get size(): number {
    return this.#items.length - this.#free.length;
  }

  /** Keeps an item and gives its number. */
  add(item: T): number {
    const slot = this.#free.pop() ?? this.#items.length;
    this.#items[slot] = item;
    return slot;
  }

  /** The item behind a number. */
  get(slot: number): T | undefined {
    return this.#items[slot];
  }

  /** Takes an item out; its number may be used again. */
  take(slot: number): T | undefined {
    const item = this.#items[slot];
    if (item !== undefined) {
      this.#items[slot] = undefined;
      this.#free.push(slot);
    }
    return item;
  }

  /** All items that are still awaited. */
  *values(): Generator<T> {
    for (const item of this.#items) {
      if (item !== undefined) {
        yield item;
      }
    }
  }
}
