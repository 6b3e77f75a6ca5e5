import { tasksPerRun } from "./lease-table.js";

/** Number of priorities, 0 to 9. */
const priorities = 10;

/** Entries that may be second ones before they are looked for; and beyond it those that are half of all. */
const doublesMin = 1000;

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

  /** Drops every entry that is in `seen`, and adds the others to it. */
  dropSeen(seen: Set<number>): void {
    const all = this.#items.slice(this.#head);
    this.#items = [];
    this.#head = 0;
    for (let at = 0; at < all.length; at += 2) {
      const run = all[at] ?? 0;
      const task = all[at + 1] ?? 0;
      const name = run * tasksPerRun + task;
      if (!seen.has(name)) {
        seen.add(name);
        this.push(run, task);
      }
    }
  }
}

/**
 * Ready tasks of one kind in one queue, higher priority first, then in order of becoming ready. It may hold entries that are
 * no longer ready: who takes one checks it against the state.
 */
export class ReadyQueue {
  readonly #byPriority: (PairQueue | undefined)[] = new Array(priorities).fill(undefined);
  #length = 0;
  /** Entries that may be second ones of a task. */
  #doubles = 0;

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

  /**
   * The entry pushed last may be the second of its task: its run was paused and goes on. Nobody may ever take them, so second entries are
   * dropped once they may be half of all.
   */
  noteDouble(): void {
    this.#doubles++;
    if (this.#doubles > doublesMin && this.#doubles * 2 > this.#length) {
      this.#dropDoubles();
    }
  }

  #dropDoubles(): void {
    const seen = new Set<number>();
    for (let priority = priorities - 1; priority >= 0; priority--) {
      this.#byPriority[priority]?.dropSeen(seen);
    }
    this.#length = seen.size;
    this.#doubles = 0;
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
