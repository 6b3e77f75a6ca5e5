import { PawlError } from "../errors.js";

/** Most calls that an error names. */
const NAMES_MAX = 5;

/**
 * That code wants to end while calls of it have not.
 *
 * @param how What it wants: `return`.
 */
export function openCallsError(task: string, open: readonly string[], how: string): PawlError {
  const message = `Expected the handler of task "${task}" to ${how} when its calls have ended, but ${open.slice(0, NAMES_MAX).join(", ")} had not. Await every ctx call.`;
  return new PawlError("PAWL_OPEN_CALLS", message, { retryable: false });
}
