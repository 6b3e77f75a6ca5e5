import type { ConnectionStatus } from "../connection.js";
import type { PawlError } from "../errors.js";

/** A kernel that is away for longer than this many ms is worth a warning: shorter ones are restarts. */
const WARN_AFTER_MS = 3_000;

/** Knows how the connection is, and says so once per outage instead of waiting in silence. */
export class ConnectionMonitor {
  #status: ConnectionStatus = { status: "idle" };
  #wasConnected = false;
  #downSinceMs: number | undefined;
  #isWarned = false;
  readonly #listener: ((status: ConnectionStatus) => void) | undefined;

  /** @param listener Told of every change; without one, a long outage is a process warning. */
  constructor(listener: ((status: ConnectionStatus) => void) | undefined) {
    this.#listener = listener;
  }

  get status(): ConnectionStatus {
    return this.#status;
  }

  /** True once a kernel has answered this client. */
  get wasConnected(): boolean {
    return this.#wasConnected;
  }

  /** What went wrong last; undefined while the kernel answers. */
  get error(): PawlError | undefined {
    return this.#status.status === "waiting" ? this.#status.error : undefined;
  }

  /** The kernel answered. */
  connected(): void {
    this.#wasConnected = true;
    this.#downSinceMs = undefined;
    this.#isWarned = false;
    if (this.#status.status !== "connected") {
      this.#change({ status: "connected" });
    }
  }

  /** A call or stream failed and is tried again. */
  failed(error: PawlError): void {
    const failures = this.#status.status === "waiting" ? this.#status.failures + 1 : 1;
    const nowMs = performance.now();
    this.#downSinceMs ??= nowMs;
    this.#change({ status: "waiting", error, failures });
    if (
      this.#listener === undefined &&
      !this.#isWarned &&
      nowMs - this.#downSinceMs >= WARN_AFTER_MS
    ) {
      this.#isWarned = true;
      process.emitWarning(`${error.message} Trying on.`, { type: "PawlWarning", code: error.code });
    }
  }

  #change(status: ConnectionStatus): void {
    this.#status = status;
    this.#listener?.(status);
  }
}
