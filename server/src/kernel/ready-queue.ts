/** Number of priorities, 0 to 9. */
const priorities = 10;

/** First in, first out, of pairs of numbers, without an object per entry. */
class PairQueue {
  #items: number[] = [];
  #head = 0;

  get length(): number {
    return (this.#items.length - this.#head) / 2;
  }

  push(run: number, task: number): void {
    this.#items.push(run, task);
  }

  /** Reads the first pair into `out`; false when there is none. */
  shift(out: { run: number; task: number }): boolean {
    if (this.#head >= this.#items.length) {
      return false;
    }
    out.run = this.#items[this.#head] ?? 0;
    out.task = this.#items[this.#head + 1] ?? 0;
    this.#head += 2;
    if (this.#head === this.#items.length) {
      this.#items = [];
      this.#head = 0;
    } else if (this.#head > 8192 && this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    return true;
  }
}

/**
 * Ready tasks of one kind in one queue, higher priority first, then in order of becoming ready. It may hold entries that are
 * no longer ready: who takes one checks it against the state.
 */
export class ReadyQueue {
  readonly #byPriority: (PairQueue | undefined)[] = new Array(priorities).fill(undefined);
  #length = 0;

  /** Entries, stale ones included. */
  get length(): number {
    return this.#length;
  }

  push(run: number, task: number, priority: number): void {
    let queue = this.#byPriority[priority];
    if (queue === undefined) {
      queue = new PairQueue();
      this.#byPriority[priority] = queue;
    }
    queue.push(run, task);
    this.#length++;
  }

  /** Takes the first entry into `out`; false when there is none. */
  shift(out: { run: number; task: number }): boolean {
    for (let priority = priorities - 1; priority >= 0; priority--) {
      if (this.#byPriority[priority]?.shift(out) === true) {
        this.#length--;
        return true;
      }
    }
    return false;
  }
}
