import type { Duration } from "./duration.js";

/** When a failed attempt is tried again. */
export interface RetryOptions {
  /** Attempts in all, the first included. Default 5, 1 to 10,000. */
  readonly attempts?: number;
  /** Wait before the second attempt. Default 1 s, at most 1 day. */
  readonly initial?: Duration;
  /** Factor from one wait to the next. Default 2, 1 to 100. */
  readonly coefficient?: number;
  /** No wait is longer. Default 100 times the initial one, at most 30 days. */
  readonly max?: Duration;
  /** Share of each wait that is random, 0 to 1. Default 0.2. */
  readonly jitter?: number;
  /** Failure kinds (error names) or codes that are never tried again. At most 100. */
  readonly nonRetryable?: readonly string[];
  /** What happens when the attempts are used up: the task fails, or a person is asked (`pawl reviews`). Default `fail`. */
  readonly onExhausted?: "fail" | "ask";
  /** How many attempts in a row may lose their worker before a person is asked. Default 5, 1 to 10,000. */
  readonly workerLosses?: number;
}

/** The timeouts of a task. */
export interface TimeoutOptions {
  /** From READY until some worker takes the task. Default none. It fails the task. */
  readonly scheduleToStart?: Duration;
  /** From the claim until the attempt's report. Default none. It ends the attempt. */
  readonly startToClose?: Duration;
  /** From the first READY until the task ends, over all attempts. Default none. It fails the task. */
  readonly scheduleToClose?: Duration;
  /** How long a lease lasts without a renewal. Default 30 s, 1 s to 1 day. The worker renews it at a third. */
  readonly lease?: Duration;
}

/** How a task is scheduled. Set where the task is defined, overridden in a plan. */
export interface ScheduleOptions {
  /** When to try again. */
  readonly retry?: RetryOptions;
  /** Its timeouts. */
  readonly timeouts?: TimeoutOptions;
  /** The queue it waits in. Default: named like the task. */
  readonly queue?: string;
  /** Higher goes first within a queue. 0 to 9, default 0. */
  readonly priority?: number;
  /** How long an attempt may go on after cancellation was requested. Default 10 s, at most 1 day. */
  readonly cancelGrace?: Duration;
}
