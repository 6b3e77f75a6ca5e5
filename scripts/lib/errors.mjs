import { constants } from "node:os";

/**
 * Setting up failed in a way that a person can mend. The message says what was expected, what was
 * found, and what to do next; no stack is shown for it.
 */
export class SetUpError extends Error {
  /** Stable code for scripts that look at it. */
  code = "PAWL_SET_UP_FAILED";

  /** @override */
  name = "SetUpError";
}

/** Somebody asked us to stop (Ctrl-C, SIGTERM, a closed terminal) while setting up. */
export class StoppedError extends Error {
  code = "PAWL_SET_UP_STOPPED";

  /** @override */
  name = "StoppedError";

  /** @param {NodeJS.Signals} signal the first signal that asked for it */
  constructor(signal) {
    super(`stopped by ${signal}`);
    this.signal = signal;
  }
}

/**
 * The exit code that a shell shows for a process ended by a signal: 128 plus its number.
 *
 * @param {NodeJS.Signals} signal
 * @returns {number}
 */
export function exitCodeOf(signal) {
  return 128 + constants.signals[signal];
}
