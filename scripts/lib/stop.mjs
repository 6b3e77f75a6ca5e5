import { StoppedError } from "./errors.mjs";

/** The signals that ask a command to stop: Ctrl-C, `kill`, and a closed terminal. */
const STOP_SIGNALS = /** @type {const} */ (["SIGINT", "SIGTERM", "SIGHUP"]);

/**
 * Ctrl-C under npm arrives twice within milliseconds: once from the terminal, once forwarded by npm.
 * Only a signal later than this is a person who insists.
 */
export const INSIST_AFTER_MS = 500;

/**
 * @typedef {object} Stop
 * @property {() => NodeJS.Signals | undefined} signal the first signal that came, if one did
 * @property {(listener: (signal: NodeJS.Signals) => void) => () => void} onStop called at the first
 *   signal (at once when it has come already); the answer takes the listener off
 * @property {(listener: () => void) => () => void} onInsist called at each further signal that
 *   comes more than 500 ms after the first
 * @property {() => void} throwIfStopped throws a StoppedError once a signal has come
 * @property {() => void} close gives the signals back to Node.js
 */

/**
 * Listens for the signals that ask to stop. While it listens Node.js no longer dies of them, so
 * whoever calls this must look at it.
 *
 * @returns {Stop}
 */
export function listenForStop() {
  /** @type {NodeJS.Signals | undefined} */
  let first;
  let firstAtMs = 0;
  /** @type {Set<(signal: NodeJS.Signals) => void>} */
  const stopListeners = new Set();
  /** @type {Set<() => void>} */
  const insistListeners = new Set();

  /** @param {NodeJS.Signals} signal */
  const handle = (signal) => {
    if (first === undefined) {
      first = signal;
      firstAtMs = performance.now();
      for (const listener of stopListeners) listener(signal);
    } else if (performance.now() - firstAtMs > INSIST_AFTER_MS) {
      for (const listener of insistListeners) listener();
    }
  };
  for (const signal of STOP_SIGNALS) process.on(signal, handle);

  return {
    signal: () => first,
    onStop(listener) {
      stopListeners.add(listener);
      if (first !== undefined) listener(first);
      return () => stopListeners.delete(listener);
    },
    onInsist(listener) {
      insistListeners.add(listener);
      return () => insistListeners.delete(listener);
    },
    throwIfStopped() {
      if (first !== undefined) throw new StoppedError(first);
    },
    close() {
      for (const signal of STOP_SIGNALS) process.off(signal, handle);
    },
  };
}

/**
 * Waits, but not past a signal to stop.
 *
 * @param {number} delayMs
 * @param {Stop} stop
 * @returns {Promise<void>}
 */
export function sleepUnlessStopped(delayMs, stop) {
  return new Promise((resolve) => {
    const timer = setTimeout(done, delayMs);
    const off = stop.onStop(done);
    function done() {
      clearTimeout(timer);
      // The listener may be called before `off` exists, when the signal has come already.
      queueMicrotask(() => off());
      resolve();
    }
  });
}
