import type { Run } from "../core/state.js";
import { type Receiver, refuseDeleted } from "./outcome.js";
import type { Waiter } from "./waiters.js";

/** Someone who waits for something to be in the state of a run. */
export interface Looker extends Waiter {
  /** True once it is there. Looked at after each change of the run. */
  readonly isThere: (run: Run) => boolean;
}

/** Who waits for something in the state of which run: the answer to an update. Whoever waits for the end of a run is in `Waiters`. */
export class Lookers {
  readonly #byRun = new Map<number, Set<Looker>>();

  /** True when nobody waits. */
  get isEmpty(): boolean {
    return this.#byRun.size === 0;
  }

  add(runNumber: number, looker: Looker): void {
    const existing = this.#byRun.get(runNumber);
    if (existing === undefined) {
      this.#byRun.set(runNumber, new Set([looker]));
    } else {
      existing.add(looker);
    }
  }

  remove(runNumber: number, looker: Looker): void {
    const existing = this.#byRun.get(runNumber);
    if (existing?.delete(looker) === true && existing.size === 0) {
      this.#byRun.delete(runNumber);
    }
  }

  /** The run is deleted: nobody finds there any more what they wait for. */
  deleted(runNumber: number, run: Run, register: (receiver: Receiver) => void): void {
    for (const looker of this.#byRun.get(runNumber) ?? []) {
      register(looker.receiver);
      looker.receiver.outcome(looker.tag, { accepted: false, rejection: refuseDeleted(run) });
    }
    this.#byRun.delete(runNumber);
  }

  /** The run has changed: tells everyone for whom it is there now; each is to be released with the turn. */
  look(runNumber: number, run: Run, register: (receiver: Receiver) => void): void {
    for (const looker of this.#byRun.get(runNumber) ?? []) {
      if (looker.isThere(run)) {
        this.remove(runNumber, looker);
        register(looker.receiver);
        looker.receiver.outcome(looker.tag, {
          accepted: true,
          reply: { existing: false },
          run,
          runNumber,
        });
      }
    }
  }
}
