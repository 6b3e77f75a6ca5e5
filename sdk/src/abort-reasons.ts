import { reviewCommand } from "./call-errors.js";
import { PawlError } from "./errors.js";

/**
 * Why an attempt should stop: `ctx.signal.reason` is one of its subclasses. Once an attempt is over, nothing it does
 * counts any more, and its `ctx` throws this same reason.
 */
export class AttemptEnded extends PawlError {
  override readonly name: string = "AttemptEnded";
}

/** The lease is gone: another attempt may be running. Nothing this one reports is taken. */
export class LeaseLost extends AttemptEnded {
  override readonly name: string = "LeaseLost";
  /** Why it ended, for example `expired`, `terminated`. Empty when it is not known. */
  readonly lostBy: string;

  constructor(lostBy: string) {
    const why = lostBy === "" ? "its lease is not held any more" : `its lease ended (${lostBy})`;
    super("PAWL_LEASE_LOST", `The attempt must stop: ${why}. Nothing it reports counts any more.`);
    this.lostBy = lostBy;
  }

  override get docs(): string {
    return "docs/errors/PAWL_LEASE_LOST.md";
  }
}

/** Cancellation of the run was asked for. The attempt may clean up within `graceMs`. */
export class Cancelled extends AttemptEnded {
  override readonly name: string = "Cancelled";
  /** How long the clean-up may take, in ms. */
  readonly graceMs: number;

  constructor(reason: string, graceMs: number) {
    super(
      "PAWL_CANCELLED",
      reason === "" ? "The run was asked to stop." : `The run was asked to stop: ${reason}`,
      {
        retryable: false,
      },
    );
    this.graceMs = graceMs;
  }
}

/** The worker is going away and could wait no longer. The task is given back and uses no attempt. */
export class Draining extends AttemptEnded {
  override readonly name: string = "Draining";

  constructor() {
    super(
      "PAWL_DRAINING",
      "The worker is going away. The task is given back and goes on elsewhere.",
    );
  }
}

/** The run is paused: no effect may begin. The task is given back, uses no attempt, and goes on when the run is resumed. */
export class RunPaused extends AttemptEnded {
  override readonly name: string = "RunPaused";

  constructor() {
    super(
      "PAWL_RUN_PAUSED",
      "The run is paused, so the operation may not begin. The task is given back and goes on when the run is resumed.",
    );
  }
}

/** The attempt's own time (start-to-close) is over. */
export class TimedOut extends AttemptEnded {
  override readonly name: string = "TimedOut";

  constructor(attemptMs: number) {
    super(
      "PAWL_ATTEMPT_TIMED_OUT",
      `Expected the attempt to end within ${attemptMs} ms, but it did not.`,
    );
  }
}

/** A person must decide about an operation; the lease was given back meanwhile. The task goes on afterwards. */
export class AwaitingReview extends AttemptEnded {
  override readonly name: string = "AwaitingReview";
  /** Id of the review. */
  readonly reviewId: string;
  /** The operation key. */
  readonly operationKey: string;

  constructor(reviewId: string, operationKey: string) {
    super(
      "PAWL_NEEDS_REVIEW",
      `Nobody knows whether "${operationKey}" happened, so the task waits for a person: ${reviewCommand(reviewId)}`,
    );
    this.reviewId = reviewId;
    this.operationKey = operationKey;
  }
}
