import { compareKeys, type OrderKey } from "./order-key.js";

/** Something that can be given. */
export interface Ready {
  readonly key: OrderKey;
  /** Gives it. */
  give(): void;
}

interface Entry {
  readonly key: OrderKey;
  readonly ready: Ready;
  /** The how many-th it was: of those with the same place the first that came is first. */
  readonly arrival: number;
}

/** What can be given, the earliest first: a binary heap, for a function that runs again has everything at once and in any order. */
export class ReadyHeap {
  readonly #entries: Entry[] = [];
  #arrivals = 0;

  /** How many there are. */
  get size(): number {
    return this.#entries.length;
  }

  /** Adds one. */
  add(ready: Ready): void {
    const entries = this.#entries;
    const entry: Entry = { key: ready.key, ready, arrival: this.#arrivals++ };
    let at = entries.length;
    entries.push(entry);
    while (at > 0) {
      const parent = (at - 1) >>> 1;
      const above = entries[parent] ?? entry;
      if (compare(above, entry) < 0) break;
      entries[at] = above;
      at = parent;
    }
    entries[at] = entry;
  }

  /** Takes the earliest; undefined when there is none. */
  take(): Ready | undefined {
    const entries = this.#entries;
    const [first] = entries;
    const last = entries.pop();
    if (last !== undefined && entries.length > 0) {
      this.#sink(last);
    }
    return first?.ready;
  }

  /** Puts one in place of the earliest. */
  #sink(entry: Entry): void {
    const entries = this.#entries;
    let at = 0;
    for (;;) {
      let below = 2 * at + 1;
      let least = entries[below];
      if (least === undefined) break;
      const right = entries[below + 1];
      if (right !== undefined && compare(right, least) < 0) {
        least = right;
        below++;
      }
      if (compare(least, entry) > 0) break;
      entries[at] = least;
      at = below;
    }
    entries[at] = entry;
  }
}

function compare(one: Entry, other: Entry): number {
  return compareKeys(one.key, other.key) || one.arrival - other.arrival;
}
