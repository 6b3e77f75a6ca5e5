import type { Cancellable } from "@pawl/server/kernel/ports.js";
import type { Prng } from "./prng.js";

interface Entry {
  readonly atMs: number;
  /** What happens at one moment happens in an order that the seed draws. */
  readonly tie: number;
  readonly order: number;
  readonly run: () => void;
  isCancelled: boolean;
}

/**
 * The only thing in a simulation that makes anything happen: one heap of callbacks, ordered by virtual time and then by chance. Between any
 * two of them all promises that can go on do, so that the product's own asynchronous code runs, and always in the same order.
 */
export class Scheduler {
  /** Ms of virtual time since the simulation began. */
  nowMs = 0;
  /** Callbacks that ran. */
  steps = 0;
  readonly #prng: Prng;
  readonly #heap: Entry[] = [];
  #order = 0;

  constructor(prng: Prng) {
    this.#prng = prng;
  }

  /** Calls back once, `delayMs` from now. */
  after(delayMs: number, run: () => void): Cancellable {
    const entry: Entry = {
      atMs: this.nowMs + Math.max(0, delayMs),
      tie: this.#prng.fraction(),
      order: this.#order++,
      run,
      isCancelled: false,
    };
    this.#push(entry);
    return {
      cancel: () => {
        entry.isCancelled = true;
      },
    };
  }

  /** Resolves `delayMs` from now. */
  wait(delayMs: number): Promise<void> {
    return new Promise((resolve) => {
      this.after(delayMs, resolve);
    });
  }

  /** Lets things happen until `isDone`, or until virtual time is over; true when it is done. */
  async run(isDone: () => boolean, untilMs: number): Promise<boolean> {
    await settlePromises();
    while (!isDone()) {
      const entry = this.#pop();
      if (entry === undefined || entry.atMs > untilMs) {
        return false;
      }
      this.nowMs = entry.atMs;
      this.steps++;
      entry.run();
      await settlePromises();
    }
    return true;
  }

  #push(entry: Entry): void {
    const heap = this.#heap;
    let at = heap.length;
    heap.push(entry);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const other = heap[parent];
      if (other === undefined || !isBefore(entry, other)) {
        break;
      }
      heap[at] = other;
      at = parent;
    }
    heap[at] = entry;
  }

  #pop(): Entry | undefined {
    for (;;) {
      const first = this.#heap[0];
      const last = this.#heap.pop();
      if (first === undefined || last === undefined) {
        return undefined;
      }
      if (this.#heap.length > 0) {
        this.#sink(last);
      }
      if (!first.isCancelled) {
        return first;
      }
    }
  }

  #sink(entry: Entry): void {
    const heap = this.#heap;
    let at = 0;
    for (;;) {
      const left = heap[at * 2 + 1];
      const right = heap[at * 2 + 2];
      const isRight = left !== undefined && right !== undefined && isBefore(right, left);
      const child = isRight ? right : left;
      if (child === undefined || isBefore(entry, child)) {
        break;
      }
      heap[at] = child;
      at = at * 2 + (isRight ? 2 : 1);
    }
    heap[at] = entry;
  }
}

function isBefore(one: Entry, other: Entry): boolean {
  if (one.atMs !== other.atMs) {
    return one.atMs < other.atMs;
  }
  return one.tie === other.tie ? one.order < other.order : one.tie < other.tie;
}

/** A turn of the real event loop runs every promise that can go on; nothing else in a simulation waits for it. */
function settlePromises(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
