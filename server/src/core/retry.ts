import type { FailureShape } from "@pawl/proto/v1/failure_wire.js";
import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import type { DecideContext } from "./context.js";
import type { RetrySpec, TaskSpec } from "./plan/task-spec.js";
import type { Task } from "./state.js";

/** What follows a failed attempt. */
export interface RetryDecision {
  readonly next: typeof TaskStatus.BACKOFF | typeof TaskStatus.FAILED;
  /** When the next attempt is due; 0 when there is none. */
  readonly readyAtMs: number;
}

const noRetry: RetryDecision = { next: TaskStatus.FAILED, readyAtMs: 0 };

/**
 * Whether and when a failed attempt is tried again. It is not when the failure says so, when its kind or code is
 * among the non-retryable ones, when the attempts are used up, or when the next one would begin after schedule-to-close.
 * @param retryAfterMs the worker's own wait, instead of the policy's.
 */
export function decideRetry(
  found: { readonly task: Task; readonly spec: TaskSpec },
  failure: FailureShape,
  ctx: DecideContext,
  retryAfterMs?: number,
): RetryDecision {
  const { task, spec } = found;
  const { retry } = spec;
  const usedAttempts = task.usedAttempts + 1;
  const isFinal =
    !failure.retryable ||
    retry.nonRetryable.has(failure.kind) ||
    (failure.code !== "" && retry.nonRetryable.has(failure.code)) ||
    usedAttempts >= retry.attemptsMax;
  if (isFinal) {
    return noRetry;
  }
  const readyAtMs = ctx.nowMs + (retryAfterMs ?? drawBackoffMs(retry, usedAttempts, ctx.random));
  const isTooLate =
    spec.scheduleToCloseMs !== undefined &&
    readyAtMs >= task.firstReadyAtMs + spec.scheduleToCloseMs;
  return isTooLate ? noRetry : { next: TaskStatus.BACKOFF, readyAtMs };
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
