import type { Duration } from "../duration.js";
import { WaitTimedOut } from "../errors.js";
import { parseDuration } from "./duration-ms.js";
import type { ConnectionMonitor } from "./monitor.js";
import { asError, startTimer } from "./time.js";

/**
 * Waits for something until a timeout or a signal. What is waited for goes on.
 *
 * @param what What is waited for, for the error.
 * @throws WaitTimedOut, naming what is wrong with the connection when something is; the signal's reason.
 */
export function waitFor<T>(
  promise: Promise<T>,
  options: { readonly timeout?: Duration; readonly signal?: AbortSignal },
  what: string,
  monitor: ConnectionMonitor,
): Promise<T> {
  const { timeout, signal } = options;
  if (timeout === undefined && signal === undefined) {
    return promise;
  }
  const timeoutMs = timeout === undefined ? undefined : parseDuration(timeout, "timeout");
  return new Promise((resolve, reject) => {
    // A timer that keeps the process alive: somebody awaits this.
    const keepAlive = setInterval(() => undefined, 0x7fff_ffff);
    const timer =
      timeoutMs === undefined
        ? undefined
        : startTimer(timeoutMs, () => {
            finish();
            const why = monitor.error === undefined ? "it takes longer" : monitor.error.message;
            const message = `Expected ${what} within ${timeout}, but ${why}. It goes on: wait again with the same run id.`;
            reject(new WaitTimedOut(message, { cause: monitor.error }));
          });
    const onAbort = (): void => {
      finish();
      reject(asError(signal?.reason));
    };
    const finish = (): void => {
      timer?.cancel();
      clearInterval(keepAlive);
      signal?.removeEventListener("abort", onAbort);
    };
    if (signal?.aborted === true) {
      onAbort();
      return;
    }
    signal?.addEventListener("abort", onAbort, { once: true });
    promise.then(resolve, reject).finally(finish);
  });
}
