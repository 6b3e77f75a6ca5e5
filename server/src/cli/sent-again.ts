import type { NextSteps } from "./with-kernel.js";

/** What `describeError` asks the next steps of when no answer came: what was asked may have happened. */
export const NO_ANSWER = "PAWL_CLI_NO_KERNEL";

/**
 * Next steps when no answer came to a command that made identities by itself: given again as it was, it would make others, and ask for a second thing.
 *
 * @param made The options that name them, as they are typed; empty: the person gave them all.
 */
export function sameAgain(made: readonly string[]): NextSteps {
  return (reason) =>
    reason === NO_ANSWER && made.length > 0
      ? [
          `Give the same command again, and add ${made.join(" ")}: what has happened is answered as existing.`,
        ]
      : undefined;
}
