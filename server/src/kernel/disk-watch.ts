import type { Rejection } from "../core/rejection.js";
import type { Store } from "../log/store.js";
import { ADMIT_ALL, type Admission, admit } from "../log/watermark.js";
import type { Cancellable, Timers } from "./ports.js";

/** How often the free space is looked at. */
const intervalMs = 1000;

/** Looks at the free space of the disk, and refuses new runs while it is low, so that running ones can still end. */
export class DiskWatch {
  readonly #store: Store;
  readonly #timers: Timers;
  readonly #onError: (error: unknown) => void;
  #admission: Admission = ADMIT_ALL;
  #timer: Cancellable | undefined;
  #isClosed = false;

  constructor(store: Store, timers: Timers, onError: (error: unknown) => void) {
    this.#store = store;
    this.#timers = timers;
    this.#onError = onError;
  }

  /** True while new runs are refused. */
  get isLow(): boolean {
    return !this.#admission.newRuns;
  }

  /** Looks once, and then every second until closed. */
  async start(): Promise<void> {
    await this.#look();
  }

  /** Why a new run must be refused now, or undefined. */
  refuseNew(): Rejection | undefined {
    if (this.#admission.newRuns) {
      return undefined;
    }
    return {
      reason: "PAWL_DISK_LOW",
      message:
        "Expected enough free disk space for new runs, but it is low; running ones go on. Free some space and send the request again.",
      detail: { case: "overloaded", value: { resource: "disk", bound: "the low-disk watermark" } },
      retryAfterMs: 5000,
    };
  }

  close(): void {
    this.#isClosed = true;
    this.#timer?.cancel();
  }

  async #look(): Promise<void> {
    try {
      this.#admission = admit(await this.#store.freeBytes(), this.#admission);
    } catch (error) {
      if (!this.#isClosed) {
        this.#onError(error);
      }
      return;
    }
    if (!this.#isClosed) {
      this.#timer = this.#timers.after(intervalMs, () => {
        this.#look().catch(this.#onError);
      });
    }
  }
}
