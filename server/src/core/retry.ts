import type { FailureShape } from "@pawl/proto/v1/failure_wire.js";
import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import type { DecideContext } from "./context.js";
import type { RetrySpec, TaskSpec } from "./plan/task-spec.js";
import type { Task } from "./state.js";

/** What follows a failed attempt. */
export interface RetryDecision {
  readonly next:
    | typeof TaskStatus.BACKOFF
    | typeof TaskStatus.NEEDS_REVIEW
    | typeof TaskStatus.FAILED;
  /** When the next attempt is due; 0 when there is none. */
  readonly readyAtMs: number;
  /** Attempts in a row that lost their worker, this one included. */
  readonly workerLosses: number;
}

/** How an attempt failed, besides what it says. */
export interface AttemptEnding {
  /** The worker's own wait, instead of the policy's. */
  readonly retryAfterMs?: number | undefined;
  /** True when its worker was lost: nobody reported. */
  readonly lostWorker?: boolean;
}

/**
 * Whether and when a failed attempt is tried again. A person is asked when too many attempts in a row have lost their worker, and, where the
 * policy says so, when the attempts are used up. Otherwise it is not when the failure says so, when its kind or code is among the
 * non-retryable ones, when the attempts are used up, or when the next one would begin after schedule-to-close.
 */
export function decideRetry(
  found: { readonly task: Task; readonly spec: TaskSpec },
  failure: FailureShape,
  ctx: DecideContext,
  ending: AttemptEnding = {},
): RetryDecision {
  const { task, spec } = found;
  const { retry } = spec;
  const { forgivenAttempts = 0, workerLosses: lossesBefore = 0 } = task.trouble ?? {};
  const usedAttempts = task.usedAttempts + 1 - forgivenAttempts;
  const workerLosses = ending.lostWorker === true ? lossesBefore + 1 : 0;
  const end = (next: RetryDecision["next"]): RetryDecision => ({
    next,
    readyAtMs: 0,
    workerLosses,
  });
  if (workerLosses >= retry.workerLossesMax) {
    return end(TaskStatus.NEEDS_REVIEW);
  }
  const isFinal =
    !failure.retryable ||
    retry.nonRetryable.has(failure.kind) ||
    (failure.code !== "" && retry.nonRetryable.has(failure.code));
  if (isFinal) {
    // What was done and is not undone must not pass unseen.
    return end(task.rollsBack === undefined ? TaskStatus.FAILED : TaskStatus.NEEDS_REVIEW);
  }
  if (usedAttempts >= retry.attemptsMax) {
    return end(retry.asksWhenExhausted ? TaskStatus.NEEDS_REVIEW : TaskStatus.FAILED);
  }
  const waitMs = ending.retryAfterMs ?? drawBackoffMs(retry, usedAttempts, ctx.random);
  const readyAtMs = ctx.nowMs + waitMs;
  const isTooLate =
    spec.scheduleToCloseMs !== undefined &&
    readyAtMs >= task.firstReadyAtMs + spec.scheduleToCloseMs;
  return isTooLate ? end(TaskStatus.FAILED) : { next: TaskStatus.BACKOFF, readyAtMs, workerLosses };
}

/**
 * The wait after `usedAttempts` attempts: exponential, bounded, of which the jitter's share is drawn evenly
 * ("Exponential Backoff And Jitter", AWS Architecture Blog, 2015, the "equal jitter" scheme made adjustable).
 */
export function drawBackoffMs(
  retry: RetrySpec,
  usedAttempts: number,
  random: () => number,
): number {
  if (retry.initialMs === 0) {
    return 0; // A coefficient grown to infinity times zero would be NaN: a wait that never ends.
  }
  const full = Math.min(
    retry.initialMs * retry.coefficient ** (usedAttempts - 1),
    retry.intervalMsMax,
  );
  return Math.round(full * (1 - retry.jitter) + full * retry.jitter * random());
}
