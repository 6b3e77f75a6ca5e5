import type { Cancellable, Timers } from "./ports.js";
import { timerMsMax } from "./ports.js";

/** Something with a due time; `dueMs` may be moved later while it is queued. */
export interface Due {
  dueMs: number;
}

/** Width of a bucket. What is due fires at most this much late, and never early. */
const bucketMs = 50;

/**
 * Due times by the ten thousand: entries lie in buckets of 50 ms, so adding and removing is O(1), and only one host timer
 * is armed. A simplified form of the timing wheels of Varghese and Lauck (SOSP 1987); distant buckets are kept in a sorted heap of
 * their indices instead of hierarchical wheels.
 */
export class DeadlineQueue<T extends Due> {
  readonly #timers: Timers;
  readonly #now: () => number;
  readonly #fire: (entry: T) => void;
  readonly #buckets = new Map<number, Set<T>>();
  /** Bucket indices, a binary heap with the least first. */
  readonly #order: number[] = [];
  #armed: Cancellable | undefined;
  #armedFor = Number.POSITIVE_INFINITY;

  /** @param fire called with each entry that is due; it may add entries. */
  constructor(timers: Timers, now: () => number, fire: (entry: T) => void) {
    this.#timers = timers;
    this.#now = now;
    this.#fire = fire;
  }

  /** Adds an entry. It is found again by `remove` only as long as its `dueMs` is unchanged; a moved one fires late at most once, and is then queued again. */
  add(entry: T): void {
    const index = Math.floor(entry.dueMs / bucketMs);
    let bucket = this.#buckets.get(index);
    if (bucket === undefined) {
      bucket = new Set();
      this.#buckets.set(index, bucket);
      pushHeap(this.#order, index);
      if (index < this.#armedFor) {
        this.#arm();
      }
    }
    bucket.add(entry);
  }

  /** Removes an entry that was added with this due time. */
  remove(entry: T, addedDueMs: number): void {
    this.#buckets.get(Math.floor(addedDueMs / bucketMs))?.delete(entry);
  }

  /** Due time of the earliest bucket; undefined when nothing is queued. */
  get nextMs(): number | undefined {
    const index = this.#order[0];
    return index === undefined ? undefined : index * bucketMs;
  }

  /** Fires everything that is due by now. */
  run(): void {
    const nowMs = this.#now();
    for (
      let index = this.#order[0];
      index !== undefined && index * bucketMs <= nowMs;
      index = this.#order[0]
    ) {
      popHeap(this.#order);
      const bucket = this.#buckets.get(index);
      this.#buckets.delete(index);
      for (const entry of bucket ?? []) {
        if (entry.dueMs <= nowMs) {
          this.#fire(entry);
        } else {
          this.#addLater(entry, index);
        }
      }
    }
    this.#arm();
  }

  /** Calls the host timer off. */
  close(): void {
    this.#armed?.cancel();
    this.#armed = undefined;
  }

  /** An entry of the bucket that is not due yet, or was moved: it goes to a bucket after the one being emptied. */
  #addLater(entry: T, emptied: number): void {
    if (Math.floor(entry.dueMs / bucketMs) > emptied) {
      this.add(entry);
      return;
    }
    const next = emptied + 1;
    let bucket = this.#buckets.get(next);
    if (bucket === undefined) {
      bucket = new Set();
      this.#buckets.set(next, bucket);
      pushHeap(this.#order, next);
    }
    bucket.add(entry);
  }

  #arm(): void {
    this.#armed?.cancel();
    const index = this.#order[0];
    this.#armedFor = index ?? Number.POSITIVE_INFINITY;
    if (index === undefined) {
      this.#armed = undefined;
      return;
    }
    const delayMs = Math.max(1, index * bucketMs - this.#now());
    this.#armed = this.#timers.after(Math.min(delayMs, timerMsMax), () => this.run());
  }
}

function pushHeap(heap: number[], value: number): void {
  let at = heap.length;
  heap.push(value);
  while (at > 0) {
    const parent = (at - 1) >> 1;
    const other = heap[parent] ?? 0;
    if (other <= value) {
      break;
    }
    heap[at] = other;
    at = parent;
  }
  heap[at] = value;
}

function popHeap(heap: number[]): void {
  const last = heap.pop();
  if (last === undefined || heap.length === 0) {
    return;
  }
  let at = 0;
  for (;;) {
    let child = at * 2 + 1;
    if (child >= heap.length) {
      break;
    }
    if ((heap[child + 1] ?? Number.POSITIVE_INFINITY) < (heap[child] ?? 0)) {
      child++;
    }
    const value = heap[child] ?? 0;
    if (value >= last) {
      break;
    }
    heap[at] = value;
    at = child;
  }
  heap[at] = last;
}
