import type { Command } from "../core/command.js";
import type { Rejection } from "../core/rejection.js";
import type { Receiver, Target } from "./outcome.js";

/** A start that waits for the checkpointer. */
export interface PostponedStart {
  readonly target: Target;
  readonly command: Command;
  readonly principal: string;
  readonly to: { readonly receiver: Receiver; readonly tag: number };
}

/** Starts that may wait; beyond it they are refused. */
const postponedMax = 20_000;

/**
 * Starts that wait because the checkpointer lags too far behind: so the tail of the log stays bounded, while reports of running
 * work never wait.
 */
export class PostponedStarts {
  #starts: PostponedStart[] = [];

  /** Keeps a start; or the refusal when too many wait already. */
  add(start: PostponedStart): Rejection | undefined {
    if (this.#starts.length < postponedMax) {
      this.#starts.push(start);
      return undefined;
    }
    return {
      reason: "PAWL_OVERLOADED",
      message: `Expected at most ${postponedMax} starts to wait for the disk, but this would be one more. Send it again later.`,
      detail: {
        case: "overloaded",
        value: { resource: "checkpointer", bound: `${postponedMax} starts` },
      },
      retryAfterMs: 500,
    };
  }

  /** Takes all that wait, in order. */
  take(): readonly PostponedStart[] {
    const starts = this.#starts;
    this.#starts = [];
    return starts;
  }
}
