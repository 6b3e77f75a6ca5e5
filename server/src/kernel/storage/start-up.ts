import type { Store } from "../../log/store.js";
import type { Loop } from "../loop.js";
import type { Timers } from "../ports.js";
import type { Checkpointer } from "./checkpointer.js";
import type { Recovery } from "./recovery.js";
import type { StoredRuns } from "./run-reader.js";

/** What a start-up needs. */
export interface StartUpParts {
  readonly store: Store;
  readonly recovery: Recovery;
  readonly runs: StoredRuns;
  readonly loop: Loop;
  readonly checkpointer: Checkpointer;
  readonly timers: Timers;
}

/**
 * What goes on in the background after a start, while the kernel serves: leases, ready tasks and timers are paged in from their rows,
 * and the runs that the tail of the log touched are read. Then the checkpointer begins.
 */
export class StartUp {
  readonly #parts: StartUpParts;

  constructor(parts: StartUpParts) {
    this.#parts = parts;
  }

  /** Call at once when the loop exists, before the first command: from here on every run that is read registers its open work. */
  begin(): Promise<void> {
    throw new Error(`${this.#parts.recovery.partition}`);
  }

  /** Ends it early; safe when it is done. */
  close(): void {}
}
