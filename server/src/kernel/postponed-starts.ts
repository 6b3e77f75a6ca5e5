import type { Caller } from "../core/caller.js";
import type { Command } from "../core/command.js";
import type { Rejection } from "../core/rejection.js";
import { bytesOfCommand } from "./new-work.js";
import type { ReplyTo, Target } from "./outcome.js";

/** A start that waits for the checkpointer. */
export interface PostponedStart {
  readonly target: Target;
  readonly command: Command;
  readonly caller: Caller;
  readonly to: ReplyTo;
}

/** Starts that may wait; beyond it they are refused. */
export const postponedMax: number = 20_000;

/** Bytes of inputs and plans that may wait; beyond it starts are refused. A plan that several share is counted once in a row. */
export const postponedBytesMax: number = 64 * 1024 * 1024;

/**
 * Starts that wait because the checkpointer lags too far behind: so the tail of the log stays bounded, while reports of running
 * work never wait.
 */
export class PostponedStarts {
  #starts: PostponedStart[] = [];
  #bytes = 0;

  /** Starts that wait. */
  get size(): number {
    return this.#starts.length;
  }

  /** Keeps a start; or the refusal when too many, or too long ones, wait already. */
  add(start: PostponedStart): Rejection | undefined {
    const bytes = bytesOf(start.command, this.#starts.at(-1)?.command);
    if (this.#starts.length >= postponedMax) {
      return tooMany(`${postponedMax} starts`);
    }
    if (this.#bytes + bytes > postponedBytesMax) {
      return tooMany(`${postponedBytesMax} bytes of starts`);
    }
    this.#starts.push(start);
    this.#bytes += bytes;
    return undefined;
  }

  /** Takes all that wait, in order. */
  take(): readonly PostponedStart[] {
    const starts = this.#starts;
    this.#starts = [];
    this.#bytes = 0;
    return starts;
  }
}

/** What a start keeps in memory while it waits; the plan is the one before's when both are of one workflow. */
function bytesOf(command: Command, before: Command | undefined): number {
  const isPlanShared =
    command.kind !== "StartRun" || (before?.kind === "StartRun" && before.plan === command.plan);
  return bytesOfCommand(command) + (isPlanShared ? 0 : command.plan.bytes.length);
}

function tooMany(bound: string): Rejection {
  return {
    reason: "PAWL_OVERLOADED",
    message: `Expected at most ${bound} to wait for the disk, but this would be more. Next: send it again later.`,
    detail: { case: "overloaded", value: { resource: "checkpointer", bound } },
    retryAfterMs: 500,
  };
}
