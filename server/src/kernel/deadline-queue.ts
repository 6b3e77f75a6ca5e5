import type { Cancellable, Timers } from "./ports.js";
import { timerMsMax } from "./ports.js";

/** Something with a due time; `dueMs` may be moved later while it is queued. */
export interface Due {
  dueMs: number;
  /** Where it lies in the queue; written by the queue alone. Begin with 0. */
  queuedIn: number;
}

/** Entries fired in one go; after a long outage far more may be due, and the loop must not stand still for them. */
const firedAtOnceMax = 2000;

/** Buckets that became empty before they are looked for; and beyond it those that are half of all. */
const hollowMin = 1000;

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
  /** Stands for a bucket that became empty; always empty. */
  readonly #none = new Set<T>();
  /** Bucket indices, a binary heap with the least first. */
  #order: number[] = [];
  /** How many of them are of buckets that became empty. */
  #hollow = 0;
  #armed: Cancellable | undefined;
  #armedFor = Number.POSITIVE_INFINITY;
  #isClosed = false;

  /** @param fire called with each entry that is due; it may add entries. */
  constructor(timers: Timers, now: () => number, fire: (entry: T) => void) {
    this.#timers = timers;
    this.#now = now;
    this.#fire = fire;
  }

  /** Adds an entry. One whose `dueMs` is moved while it is queued is looked at when it was due first, and queued again. */
  add(entry: T): void {
    const index = Math.floor(entry.dueMs / bucketMs);
    this.#put(entry, index);
    if (index < this.#armedFor) {
      this.#arm();
    }
  }

  /** Removes an entry, wherever it lies by now; nothing when it is not queued. */
  remove(entry: T): void {
    const index = entry.queuedIn;
    const bucket = this.#buckets.get(index);
    if (bucket?.delete(entry) === true && bucket.size === 0) {
      this.#buckets.set(index, this.#none); // Its index stays in the heap; a set for each such index would be dear.
      this.#hollow++;
      if (this.#hollow > hollowMin && this.#hollow * 2 > this.#order.length) {
        this.#dropHollow();
      }
    }
  }

  /** Entries that are queued. */
  get size(): number {
    let size = 0;
    for (const bucket of this.#buckets.values()) {
      size += bucket.size;
    }
    return size;
  }

  /** Buckets, those included that became empty and are still kept. */
  get buckets(): number {
    return this.#order.length;
  }

  /** When the queue has something to look at next; undefined when nothing is queued. */
  get nextMs(): number | undefined {
    const index = this.#order[0];
    return index === undefined ? undefined : index * bucketMs;
  }

  /** Fires what is due by now, at most a few thousand entries at once: the rest follows after what else has arrived. */
  run(): void {
    const nowMs = this.#now();
    let left = firedAtOnceMax;
    for (
      let index = this.#order[0];
      index !== undefined && index * bucketMs <= nowMs && left > 0;
      index = this.#order[0]
    ) {
      popHeap(this.#order);
      const bucket = this.#buckets.get(index) ?? new Set();
      this.#buckets.delete(index);
      this.#hollow -= bucket === this.#none ? 1 : 0;
      left = this.#empty(index, bucket, { nowMs, left });
      if (bucket.size > 0) {
        this.#putBack(index, bucket);
      }
    }
    this.#arm();
  }

  /** Takes entries out of a bucket, at most `left`; the answer is how many more may be taken. */
  #empty(
    index: number,
    bucket: Set<T>,
    bound: { readonly nowMs: number; readonly left: number },
  ): number {
    let { left } = bound;
    for (const entry of bucket) {
      if (left === 0) {
        break;
      }
      left--;
      bucket.delete(entry);
      if (entry.dueMs <= bound.nowMs) {
        this.#fire(entry);
      } else {
        // Not due yet, or moved: to a bucket after the one being emptied.
        this.#put(entry, Math.max(index + 1, Math.floor(entry.dueMs / bucketMs)));
      }
    }
    return left;
  }

  /** Calls the host timer off, for good. */
  close(): void {
    this.#isClosed = true;
    this.#armed?.cancel();
    this.#armed = undefined;
  }

  #putBack(index: number, bucket: Set<T>): void {
    const added = this.#buckets.get(index);
    if (added === undefined) {
      pushHeap(this.#order, index);
    } else if (added === this.#none) {
      this.#hollow--;
    }
    for (const entry of added ?? []) {
      bucket.add(entry);
    }
    this.#buckets.set(index, bucket);
  }

  #put(entry: T, index: number): void {
    entry.queuedIn = index;
    let bucket = this.#buckets.get(index);
    if (bucket === undefined || bucket === this.#none) {
      if (bucket === undefined) {
        pushHeap(this.#order, index);
      } else {
        this.#hollow--;
      }
      bucket = new Set();
      this.#buckets.set(index, bucket);
    }
    bucket.add(entry);
  }

  /** Most deadlines are called off long before they are due, and a week of empty buckets would be millions. */
  #dropHollow(): void {
    const left: number[] = [];
    for (const index of this.#order) {
      if (this.#buckets.get(index) === this.#none) {
        this.#buckets.delete(index);
      } else {
        left.push(index);
      }
    }
    this.#order = left.sort((one, other) => one - other); // What is sorted is a heap.
    this.#hollow = 0;
  }

  #arm(): void {
    this.#armed?.cancel();
    const index = this.#order[0];
    this.#armedFor = index ?? Number.POSITIVE_INFINITY;
    if (index === undefined || this.#isClosed) {
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
