import type { Cancellable, Clock, Timers } from "@pawl/server/kernel/ports.js";

interface Waiting {
  readonly atMs: number;
  readonly callback: () => void;
}

/**
 * A clock and timers that move only when a test says so. What is due at one moment runs in the order in which it was asked for; between
 * any two callbacks all promises that can go on do.
 */
export class VirtualTime implements Clock, Timers {
  #nowMs: number;
  #wallOffsetMs = 0;
  #soon: { readonly callback: () => void }[] = [];
  #waiting: Waiting[] = [];

  /** @param startMs default: some time in 2026. */
  constructor(startMs: number = 1_780_000_000_000) {
    this.#nowMs = startMs;
  }

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
    const waiting = { atMs: this.#nowMs + Math.max(0, delayMs), callback };
    this.#waiting.push(waiting);
    return {
      cancel: () => {
        this.#waiting = this.#waiting.filter((other) => other !== waiting);
      },
    };
  }

  soon(callback: () => void): Cancellable {
    const entry = { callback };
    this.#soon.push(entry);
    return {
      cancel: () => {
        this.#soon = this.#soon.filter((other) => other !== entry);
      },
    };
  }

  /** Lets everything happen that needs no time to pass. */
  async settle(): Promise<void> {
    do {
      const due = this.#soon;
      this.#soon = [];
      for (const { callback } of due) {
        callback();
        await drainPromises();
      }
      await drainPromises();
    } while (this.#soon.length > 0);
  }

  /** Lets time pass; what becomes due runs at its own moment. */
  async advance(ms: number): Promise<void> {
    const endMs = this.#nowMs + ms;
    await this.settle();
    for (let next = this.#next(endMs); next !== undefined; next = this.#next(endMs)) {
      this.#waiting = this.#waiting.filter((other) => other !== next);
      this.#nowMs = Math.max(this.#nowMs, next.atMs);
      next.callback();
      await this.settle();
    }
    this.#nowMs = endMs;
  }

  /** Forgets everything that waits: the process that asked for it is gone. */
  forget(): void {
    this.#soon = [];
    this.#waiting = [];
  }

  #next(endMs: number): Waiting | undefined {
    let first: Waiting | undefined;
    for (const waiting of this.#waiting) {
      if (waiting.atMs <= endMs && (first === undefined || waiting.atMs < first.atMs)) {
        first = waiting;
      }
    }
    return first;
  }
}

/** A turn of the real event loop runs every promise that can go on. */
function drainPromises(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
