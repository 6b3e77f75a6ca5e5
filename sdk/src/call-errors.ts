import type { Duration } from "./duration.js";
import { PawlError, type RecordedFailure } from "./errors.js";
import { parseDuration } from "./internal/duration-ms.js";

/** What a `Refused` may be given besides its reason. */
export interface RefusedOptions {
  /** The sink's own code, for example `card_declined`. Recorded. */
  readonly sinkCode?: string;
  /** Structured data to record with it. JSON. */
  readonly data?: unknown;
  /** What led to it. Recorded as text. */
  readonly cause?: unknown;
}

/**
 * Thrown by an operation's `call`: the sink said no, and nothing happened there. Recorded write-once: `perform` throws
 * the same refusal at every later execution. Another content needs another `key`.
 */
export class Refused extends PawlError {
  override readonly name: string = "Refused";
  /** The sink's own code. Empty when it gave none. */
  readonly sinkCode: string;
  /** Structured data. Undefined when there is none. */
  readonly data: unknown;

  constructor(reason: string, options: RefusedOptions = {}) {
    super("PAWL_REFUSED", reason, { cause: options.cause, retryable: false });
    this.sinkCode = options.sinkCode ?? "";
    this.data = options.data;
  }
}

/** What a `NotSent` or an `OutcomeUnknown` may be given besides its reason. */
export interface RetryableCallOptions {
  /** Not to be tried again earlier than after this long. */
  readonly retryAfter?: Duration;
  /** What led to it. */
  readonly cause?: unknown;
}

/**
 * Thrown by an operation's `call`: the request provably never took effect, because it never left (connection refused,
 * name not found) or was turned away unread. The next intent proceeds without doubt. When in doubt, throw anything else.
 */
export class NotSent extends PawlError {
  override readonly name: string = "NotSent";
  /** Not before this many ms from now. Undefined: the retry policy's wait. */
  readonly retryAfterMs: number | undefined;

  constructor(reason: string, options: RetryableCallOptions = {}) {
    super("PAWL_NOT_SENT", reason, { cause: options.cause });
    this.retryAfterMs =
      options.retryAfter === undefined
        ? undefined
        : parseDuration(options.retryAfter, "retryAfter");
  }
}

/**
 * The effect may or may not have happened. A `call` need not throw it: whatever it throws besides `Refused` and
 * `NotSent` means this. It only adds a wait that the sink asked for.
 */
export class OutcomeUnknown extends PawlError {
  override readonly name: string = "OutcomeUnknown";
  /** Not before this many ms from now. Undefined: the SDK's own backoff. */
  readonly retryAfterMs: number | undefined;

  constructor(reason: string, options: RetryableCallOptions = {}) {
    super("PAWL_OUTCOME_UNKNOWN", reason, { cause: options.cause });
    this.retryAfterMs =
      options.retryAfter === undefined
        ? undefined
        : parseDuration(options.retryAfter, "retryAfter");
  }
}

/** Thrown by `perform`: a person gave the operation up. Thrown again at every later execution. */
export class OperationAbandoned extends PawlError {
  override readonly name: string = "OperationAbandoned";
  /** The operation key. */
  readonly operationKey: string;

  constructor(operationKey: string, failure: RecordedFailure) {
    super(
      "PAWL_OPERATION_ABANDONED",
      `Operation "${operationKey}" was given up: ${failure.message}`,
      {
        cause: failure,
        retryable: false,
      },
    );
    this.operationKey = operationKey;
  }
}

/**
 * Thrown by `perform`: calls ended with an unknown outcome as often as one attempt tries. The doubt is recorded; the
 * next attempt goes on by the sink's policy (same key, look-up, or a review).
 */
export class OperationInDoubt extends PawlError {
  override readonly name: string = "OperationInDoubt";
  /** The operation key. */
  readonly operationKey: string;
  /** Not before this many ms from now. Undefined: the retry policy's wait. */
  readonly retryAfterMs: number | undefined;

  constructor(operationKey: string, calls: number, cause: unknown) {
    const why = cause instanceof Error ? cause.message : String(cause);
    super(
      "PAWL_OPERATION_IN_DOUBT",
      `Expected the call of "${operationKey}" to say how it ended, but after ${calls} call(s) nobody knows: ${why}`,
      { cause },
    );
    this.operationKey = operationKey;
    this.retryAfterMs = cause instanceof OutcomeUnknown ? cause.retryAfterMs : undefined;
  }
}

/** What a person runs to settle a review. */
export function reviewCommand(reviewId: string): string {
  return `npx --no pawl reviews resolve ${reviewId} --choice done|retry|abandon --reason TEXT (done also takes --result JSON)`;
}

/** A person must say what happened to an operation. */
export class NeedsReview extends PawlError {
  override readonly name: string = "NeedsReview";
  /** Id of the review. */
  readonly reviewId: string;
  /** The operation key. */
  readonly operationKey: string;

  constructor(reviewId: string, operationKey: string) {
    super(
      "PAWL_NEEDS_REVIEW",
      `Nobody knows whether "${operationKey}" happened, so a person must say: ${reviewCommand(reviewId)}`,
    );
    this.reviewId = reviewId;
    this.operationKey = operationKey;
  }
}
