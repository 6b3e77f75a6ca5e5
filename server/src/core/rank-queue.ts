/** Hands out numbers by their rank, the lowest first: a binary heap. A number that was added twice is handed out twice. */
export class RankQueue {
  readonly #ranks: readonly number[];
  readonly #heap: number[] = [];

  /** @param ranks rank of each number. */
  constructor(ranks: readonly number[]) {
    this.#ranks = ranks;
  }

  /** Adds a number, in O(log n). */
  add(number: number): void {
    const heap = this.#heap;
    let at = heap.length;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = heap[parent] ?? number;
      if (this.#rank(above) <= this.#rank(number)) {
        break;
      }
      heap[at] = above;
      at = parent;
    }
    heap[at] = number;
  }

  /** Takes out the number of the lowest rank, in O(log n); undefined when there is none. */
  take(): number | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (last !== undefined && heap.length > 0) {
      this.#sink(last);
    }
    return first;
  }

  #sink(number: number): void {
    const heap = this.#heap;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) {
        break;
      }
      if (this.#rank(heap[child + 1]) < this.#rank(heap[child])) {
        child++;
      }
      const below = heap[child];
      if (below === undefined || this.#rank(number) <= this.#rank(below)) {
        break;
      }
      heap[at] = below;
      at = child;
    }
    heap[at] = number;
  }

  #rank(number: number | undefined): number {
    return this.#ranks[number ?? -1] ?? Number.POSITIVE_INFINITY;
  }
}
