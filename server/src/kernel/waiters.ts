import type { Run } from "../core/state.js";
import type { Receiver } from "./outcome.js";

/** Someone who waits for the end of a run. */
export interface Waiter {
  readonly receiver: Receiver;
  readonly tag: number;
}

/** Who waits for the end of which run. */
export class Waiters {
  readonly #byRun = new Map<number, Waiter | Set<Waiter>>();

  /** Runs whose end someone waits for. */
  get size(): number {
    return this.#byRun.size;
  }

  /** True when nobody waits. */
  get isEmpty(): boolean {
    return this.#byRun.size === 0;
  }

  add(runNumber: number, waiter: Waiter): void {
    const existing = this.#byRun.get(runNumber);
    if (existing === undefined) {
      this.#byRun.set(runNumber, waiter); // One waiter is the usual case and needs no set.
    } else if (existing instanceof Set) {
      existing.add(waiter);
    } else {
      this.#byRun.set(runNumber, new Set([existing, waiter]));
    }
  }

  remove(runNumber: number, waiter: Waiter): void {
    const existing = this.#byRun.get(runNumber);
    if (existing === waiter) {
      this.#byRun.delete(runNumber);
    } else if (existing instanceof Set && existing.delete(waiter) && existing.size === 0) {
      this.#byRun.delete(runNumber);
    }
  }

  /** Tells everyone who waits for this run that it has ended; each is to be released with the turn. */
  closed(runNumber: number, run: Run, register: (receiver: Receiver) => void): void {
    const existing = this.#byRun.get(runNumber);
    if (existing === undefined) {
      return;
    }
    this.#byRun.delete(runNumber);
    for (const waiter of existing instanceof Set ? existing : [existing]) {
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
