import { nodeTimers } from "@pawl/server/kernel/node-ports.js";
import type { Cancellable, Clock, Timers } from "@pawl/server/kernel/ports.js";

interface Waiting {
  readonly atMs: number;
  readonly callback: () => void;
}

/**
 * Time that moves only when a test says so, beside a real network: what is due soon runs as in a process, so that calls are
 * answered. Leaps like the clock of a machine that slept: what fell due meanwhile fires once, afterwards.
 */
export class SteeredTime implements Clock, Timers {
  /** Every delay that a host timer was asked for. */
  readonly delaysMs: number[] = [];
  #nowMs = 1_780_000_000_000;
  #wallOffsetMs = 0;
  #waiting: Waiting[] = [];

  wallMs(): number {
    return this.#nowMs + this.#wallOffsetMs;
  }

  monotonicMs(): number {
    return this.#nowMs;
  }

  /** Makes the wall clock jump, as an operator or NTP would. */
  jumpWall(ms: number): void {
    this.#wallOffsetMs += ms;
  }

  after(delayMs: number, callback: () => void): Cancellable {
    this.delaysMs.push(delayMs);
    const waiting = { atMs: this.#nowMs + Math.max(0, delayMs), callback };
    this.#waiting.push(waiting);
    return {
      cancel: () => {
        this.#waiting = this.#waiting.filter((other) => other !== waiting);
      },
    };
  }

  soon(callback: () => void): Cancellable {
    return nodeTimers.soon(callback);
  }

  /** Lets time pass, in steps of at most `stepMs`. */
  async pass(ms: number, stepMs: number = ms): Promise<void> {
    for (let left = ms; left > 0; left -= stepMs) {
      this.#nowMs += Math.min(left, stepMs);
      const due = this.#waiting.filter(({ atMs }) => atMs <= this.#nowMs);
      this.#waiting = this.#waiting.filter(({ atMs }) => atMs > this.#nowMs);
      for (const { callback } of due.sort((a, b) => a.atMs - b.atMs)) callback();
      await new Promise(setImmediate);
    }
  }

  /** Forgets all that waits: the process that asked for it is gone. */
  forget(): void {
    this.#waiting = [];
  }
}
