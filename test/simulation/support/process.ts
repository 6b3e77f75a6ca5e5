import type { Cancellable, Timers } from "@pawl/server/kernel/ports.js";
import type { Scheduler } from "./scheduler.js";

/**
 * A process of the simulated machine. It can be killed: whatever it waited for then never comes. It can be frozen, as by SIGSTOP or a blocked
 * event loop: whatever comes meanwhile is handled when it goes on, in the order in which it came.
 */
export class Process implements Timers {
  readonly name: string;
  readonly #scheduler: Scheduler;
  #life = 0;
  #isAlive = false;
  #isFrozen = false;
  #kept: (() => void)[] = [];

  constructor(scheduler: Scheduler, name: string) {
    this.#scheduler = scheduler;
    this.name = name;
  }

  get isAlive(): boolean {
    return this.#isAlive;
  }

  get isFrozen(): boolean {
    return this.#isFrozen;
  }

  /** Begins a new life. Nothing of an earlier one reaches it. */
  begin(): void {
    this.#life++;
    this.#isAlive = true;
    this.#isFrozen = false;
    this.#kept = [];
  }

  /** Ends it without a word. */
  kill(): void {
    this.#isAlive = false;
    this.#isFrozen = false;
    this.#kept = [];
  }

  /** Stops it for a while. */
  freeze(ms: number): void {
    if (!this.#isAlive || this.#isFrozen) {
      return;
    }
    this.#isFrozen = true;
    const life = this.#life;
    this.#scheduler.after(ms, () => {
      if (this.#isAlive && this.#life === life) {
        this.#goOn(life);
      }
    });
  }

  /** The way into this life: what is handed over runs only while it lasts, and not while it is frozen. */
  entry(): (run: () => void) => void {
    const life = this.#life;
    return (run) => {
      if (!this.#isAlive || this.#life !== life) {
        return;
      }
      if (this.#isFrozen) {
        this.#kept.push(run);
      } else {
        run();
      }
    };
  }

  /** A callback that comes by that way. */
  guard(run: () => void): () => void {
    const enter = this.entry();
    return () => enter(run);
  }

  after(delayMs: number, callback: () => void): Cancellable {
    let isCancelled = false;
    const armed = this.#scheduler.after(
      delayMs,
      this.guard(() => {
        if (!isCancelled) {
          callback();
        }
      }),
    );
    return {
      cancel: () => {
        isCancelled = true;
        armed.cancel();
      },
    };
  }

  soon(callback: () => void): Cancellable {
    return this.after(0, callback);
  }

  /** Resolves after a while of this life. */
  wait(delayMs: number): Promise<void> {
    return new Promise((resolve) => {
      this.after(delayMs, resolve);
    });
  }

  /** What was kept happens now, each at a moment of its own so that promises go on between; what comes meanwhile comes after it. */
  #goOn(life: number): void {
    const run = this.#kept.shift();
    if (run === undefined) {
      this.#isFrozen = false;
      return;
    }
    run();
    this.#scheduler.after(0, () => {
      if (this.#isAlive && this.#life === life) {
        this.#goOn(life);
      }
    });
  }
}
