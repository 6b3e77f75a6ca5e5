import { AccessDenied, Rejected } from "../errors.js";
import { Backoff } from "./backoff.js";
import type { ClientCore } from "./client-core.js";
import { asError, wait } from "./time.js";
import { readCallFailure } from "./transport-error.js";

/** How a stream that is only read is opened again, until it has told all. */
export class Reopening {
  readonly #core: ClientCore;
  readonly #signal: AbortSignal;
  readonly #backoff = new Backoff({ initialMs: 50, maxMs: 3_000 });
  /** True when the last stream was refused for its token. */
  #wasDenied = false;

  /** @param signal ends the waiting; what it is aborted with is thrown. */
  constructor(core: ClientCore, signal: AbortSignal) {
    this.#core = core;
    this.#signal = signal;
  }

  /** The kernel answered on the stream. */
  answered(): void {
    this.#core.monitor.connected();
    this.#backoff.reset();
    this.#wasDenied = false;
  }

  /** The stream failed. Throws what a new one would not change. */
  failed(cause: unknown): void {
    const { api, monitor } = this.#core;
    if (this.#signal.aborted) {
      throw asError(this.#signal.reason);
    }
    const failure = readCallFailure(cause, api.url);
    if (failure.error instanceof Rejected && failure.error.code === "PAWL_WATCHER_TOO_SLOW") {
      // It only means: go on from the position of the last message.
      return;
    }
    // A token that counted may have been rotated meanwhile: what the client sends now is tried once.
    const isTriedOnce =
      failure.error instanceof AccessDenied && !this.#wasDenied && monitor.wasConnected;
    this.#wasDenied ||= isTriedOnce;
    const isFinal = !failure.isTransient || (failure.isForeign && !monitor.wasConnected);
    if (isFinal && !isTriedOnce) {
      throw failure.error;
    }
    monitor.failed(failure.error);
  }

  /** Waits until the next stream may be opened. */
  next(): Promise<void> {
    return wait(this.#backoff.nextMs(), this.#signal);
  }
}
