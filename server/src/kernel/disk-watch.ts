import type { Rejection } from "../core/rejection.js";
import type { Ballast } from "../log/ballast.js";
import type { Store } from "../log/store.js";
import {
  ADMIT_ALL,
  type Admission,
  admit,
  REOPEN_FACTOR,
  WATERMARKS_DEFAULT,
  type Watermarks,
} from "../log/watermark.js";
import type { Cancellable, Timers } from "./ports.js";

/** How the disk is watched. */
export interface DiskOptions {
  /** Default: none is kept. */
  readonly ballast?: Ballast;
  /** Default: `WATERMARKS_DEFAULT`. */
  readonly marks?: Watermarks;
  /** Rest before the ballast is built, and between its pieces, in ms. Defaults 60,000 and 500. */
  readonly ballastAfterMs?: number;
  readonly ballastPauseMs?: number;
}

/** What watching needs. */
export interface DiskWatchParts {
  readonly store: Store;
  readonly timers: Timers;
  readonly onError: (error: unknown) => void;
  readonly options?: DiskOptions;
}

/** How often the free space is looked at. */
const intervalMs = 1000;

/**
 * Looks at the free space of the disk, and refuses new runs while it is low, so that running ones can still end. For them it keeps a ballast, which
 * is given back when the disk is nearly full, and built again, slowly, when there is room.
 */
export class DiskWatch {
  readonly #parts: DiskWatchParts;
  readonly #marks: Watermarks;
  #admission: Admission = ADMIT_ALL;
  #timer: Cancellable | undefined;
  #pause: { readonly timer: Cancellable; readonly wake: () => void } | undefined;
  #looks = 0;
  #building: Promise<void> | undefined;
  #isClosed = false;

  constructor(parts: DiskWatchParts) {
    this.#parts = parts;
    this.#marks = parts.options?.marks ?? WATERMARKS_DEFAULT;
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
        "Expected enough free disk space for new runs, but it is low; running ones go on. Next: free some space and send the request again.",
      detail: { case: "overloaded", value: { resource: "disk", bound: "the low-disk watermark" } },
      retryAfterMs: 5000,
    };
  }

  /** Resolves when nothing is being written any more. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#timer?.cancel();
    if (this.#building !== undefined) {
      // A ballast that is not whole by now is begun anew by the next kernel.
      this.#parts.options?.ballast?.release();
      this.#pause?.timer.cancel();
      this.#pause?.wake();
      await this.#building;
    }
  }

  async #look(): Promise<void> {
    const { store, timers, onError } = this.#parts;
    try {
      const freeBytes = await store.freeBytes();
      this.#admission = admit(freeBytes, this.#admission, this.#marks);
      this.#tendBallast(freeBytes);
      this.#looks++;
    } catch (error) {
      if (!this.#isClosed) {
        onError(error);
      }
      return;
    }
    if (!this.#isClosed) {
      this.#timer = timers.after(intervalMs, () => {
        this.#look().catch(onError);
      });
    }
  }

  #tendBallast(freeBytes: number): void {
    const { options = {}, onError } = this.#parts;
    const { ballast, ballastAfterMs = 60_000 } = options;
    if (ballast === undefined || this.#isClosed) {
      return;
    }
    if (freeBytes < this.#marks.completionsBytesMin) {
      ballast.release();
      return;
    }
    const isRoom = freeBytes - ballast.bytes >= this.#marks.newRunsBytesMin * REOPEN_FACTOR;
    const isTime = this.#looks * intervalMs >= ballastAfterMs;
    if (isRoom && isTime && !ballast.isWhole && this.#building === undefined) {
      this.#building = ballast
        .build(() => this.#rest())
        .catch(onError)
        .finally(() => {
          this.#building = undefined;
        });
    }
  }

  #rest(): Promise<void> {
    if (this.#isClosed) {
      return Promise.resolve();
    }
    return new Promise((resolve) => {
      const ms = this.#parts.options?.ballastPauseMs ?? 500;
      this.#pause = { timer: this.#parts.timers.after(ms, resolve), wake: resolve };
    });
  }
}
