/** Longest delay of a host timer, in ms; a longer one would fire at once (nodejs/node#4541). */
const HOST_TIMER_MS_MAX = 2_147_483_647;

/** Milliseconds that only ever go forward, whatever becomes of the wall clock. */
export function monotonicMs(): number {
  return performance.now();
}

/** A timer that can be taken back. */
export interface Timer {
  /** Takes it back. Harmless when it has fired. */
  cancel(): void;
}

/**
 * Calls back once, not before `delayMs`. Longer than the host allows is armed in parts. A timer does not keep the
 * process alive: what is waited for (a stream, a call) does.
 */
export function startTimer(delayMs: number, callback: () => void): Timer {
  let handle: NodeJS.Timeout | undefined;
  let leftMs = Math.max(0, delayMs);
  const arm = (): void => {
    const partMs = Math.min(leftMs, HOST_TIMER_MS_MAX);
    leftMs -= partMs;
    handle = setTimeout(() => (leftMs > 0 ? arm() : callback()), Math.ceil(partMs));
    handle.unref();
  };
  arm();
  return { cancel: () => clearTimeout(handle) };
}

/** Waits this long, or until the signal aborts: then it rejects with the signal's reason. Keeps the process alive. */
export function wait(delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) {
      reject(asError(signal.reason));
      return;
    }
    // The handle of its own keeps the process alive while somebody awaits this.
    const keepAlive = setInterval(() => undefined, HOST_TIMER_MS_MAX);
    const finish = (): void => {
      clearInterval(keepAlive);
      signal?.removeEventListener("abort", onAbort);
    };
    const timer = startTimer(delayMs, () => {
      finish();
      resolve();
    });
    const onAbort = (): void => {
      timer.cancel();
      finish();
      reject(asError(signal?.reason));
    };
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}

/** The reason of an abort as an error. */
export function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason), { cause: reason });
}
