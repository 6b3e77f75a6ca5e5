import type { Cancellable, Timers } from "./ports.js";

/** Timers that end together, so that nothing they were to call outlives whoever asked for them. */
export class EndingTimers implements Timers {
  readonly #timers: Timers;
  readonly #pending = new Set<Cancellable>();
  #hasEnded = false;

  constructor(timers: Timers) {
    this.#timers = timers;
  }

  /** Calls that are still to come. */
  get pending(): number {
    return this.#pending.size;
  }

  after(delayMs: number, callback: () => void): Cancellable {
    return this.#keep((call) => this.#timers.after(delayMs, call), callback);
  }

  soon(callback: () => void): Cancellable {
    return this.#keep((call) => this.#timers.soon(call), callback);
  }

  /** Calls off all that is to come; what is asked for from now on is never called. */
  end(): void {
    this.#hasEnded = true;
    for (const each of this.#pending) each.cancel();
    this.#pending.clear();
  }

  #keep(arm: (call: () => void) => Cancellable, callback: () => void): Cancellable {
    if (this.#hasEnded) return { cancel: () => undefined };
    const armed = arm(() => {
      this.#pending.delete(armed);
      callback();
    });
    this.#pending.add(armed);
    return {
      cancel: () => {
        this.#pending.delete(armed);
        armed.cancel();
      },
    };
  }
}
