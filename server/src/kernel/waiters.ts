import type { Run } from "../core/state.js";
import type { Receiver } from "./outcome.js";

/** Someone who waits for the end of a run. */
export interface Waiter {
  readonly receiver: Receiver;
  readonly tag: number;
}

/** Who waits for the end of which run. */
export class Waiters {
  readonly #byRun = new Map<number, Waiter | Waiter[]>();

  /** Runs whose end someone waits for. */
  get size(): number {
    return this.#byRun.size;
  }

  add(runNumber: number, waiter: Waiter): void {
    const existing = this.#byRun.get(runNumber);
    if (existing === undefined) {
      this.#byRun.set(runNumber, waiter); // One waiter is the usual case and needs no array.
    } else if (Array.isArray(existing)) {
      existing.push(waiter);
    } else {
      this.#byRun.set(runNumber, [existing, waiter]);
    }
  }

  remove(runNumber: number, waiter: Waiter): void {
    const existing = this.#byRun.get(runNumber);
    if (existing === waiter) {
      this.#byRun.delete(runNumber);
    } else if (Array.isArray(existing)) {
      const left = existing.filter((other) => other !== waiter);
      if (left.length === 0) {
        this.#byRun.delete(runNumber);
      } else {
        this.#byRun.set(runNumber, left);
      }
    }
  }

  /** Tells everyone who waits for this run that it has ended; each is to be released with the turn. */
  closed(runNumber: number, run: Run, register: (receiver: Receiver) => void): void {
    const existing = this.#byRun.get(runNumber);
    if (existing === undefined) {
      return;
    }
    this.#byRun.delete(runNumber);
    for (const waiter of Array.isArray(existing) ? existing : [existing]) {
      register(waiter.receiver);
      waiter.receiver.outcome(waiter.tag, {
        accepted: true,
        reply: { existing: false },
        run,
        runNumber,
      });
    }
  }
}
