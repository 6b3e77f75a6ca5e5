import { startHostTimer, type Timer } from "./time.js";

/** Until the kernel says otherwise it pings this often, in ms. */
export const PING_MS = 5_000;

/** A stream that is silent for this many ping intervals is dead. */
const SILENT_PINGS = 3;

/** Ends a stream on which nothing was heard for three ping intervals; asks for a pong meanwhile. */
export class SilenceWatch {
  readonly #ping: () => void;
  #heardAtMs = 0;
  #timer: Timer | undefined;

  /** @param ping asks the other end for a pong. */
  constructor(ping: () => void) {
    this.#ping = ping;
  }

  /** Something was heard. */
  heard(): void {
    this.#heardAtMs = performance.now();
  }

  /** Begins anew, for a stream that `abort` ends, and whose other end pings once in `intervalMs`. */
  start(abort: AbortController, intervalMs: number): void {
    this.stop();
    this.heard();
    this.#arm(abort, intervalMs);
  }

  /** Watches no more. */
  stop(): void {
    this.#timer?.cancel();
  }

  #arm(abort: AbortController, intervalMs: number): void {
    const armedAtMs = performance.now();
    this.#timer = startHostTimer(intervalMs, () => {
      const nowMs = performance.now();
      // When this process itself was stopped or blocked, what came meanwhile is not read yet: look again next time.
      const wasBlocked = nowMs - armedAtMs > 2 * intervalMs;
      if (!wasBlocked && nowMs - this.#heardAtMs > SILENT_PINGS * intervalMs) {
        abort.abort(new Error(`the kernel was silent for ${SILENT_PINGS * intervalMs} ms`));
        return;
      }
      if (nowMs - this.#heardAtMs >= intervalMs) {
        this.#ping();
      }
      this.#arm(abort, intervalMs);
    });
  }
}
