/**
 * What waits, by whose it is. Whoever has much waiting keeps nobody else from their turn: one of each in turn, and each one's own in order.
 */
export class FairQueue<T> {
  readonly #byOwner = new Map<string, T[]>();
  #size = 0;
  #lastOwner = "";

  /** All that waits. */
  get size(): number {
    return this.#size;
  }

  /** What waits of one owner. */
  sizeOf(owner: string): number {
    return this.#byOwner.get(owner)?.length ?? 0;
  }

  push(owner: string, item: T): void {
    const own = this.#byOwner.get(owner);
    if (own === undefined) {
      this.#byOwner.set(owner, [item]);
    } else {
      own.push(item);
    }
    this.#size++;
  }

  /** The next one, of the owner whose last turn is longest ago. */
  shift(): T | undefined {
    this.#moveBehind(this.#lastOwner);
    const [next] = this.#byOwner;
    if (next === undefined) {
      return undefined;
    }
    const [owner, own] = next;
    const item = own.shift();
    if (own.length === 0) {
      this.#byOwner.delete(owner);
    }
    this.#lastOwner = owner;
    this.#size--;
    return item;
  }

  #moveBehind(owner: string): void {
    const own = this.#byOwner.get(owner);
    if (own !== undefined) {
      this.#byOwner.delete(owner);
      this.#byOwner.set(owner, own);
    }
  }
}
