import type { CancelMode } from "./cancel-mode.js";
import { PawlError, type RecordedFailure } from "./errors.js";

/** A called task failed for good, or was cancelled: the failure is recorded and thrown again at the same place. */
export class CallFailed extends PawlError {
  override readonly name: string = "CallFailed";
  /** Name of the task. */
  readonly task: string;
  /** The recorded failure. */
  readonly failure: RecordedFailure;

  constructor(task: string, failure: RecordedFailure) {
    super("PAWL_CALL_FAILED", `Task "${task}" failed for good: ${failure.message}`, {
      cause: failure,
      retryable: false,
    });
    this.task = task;
    this.failure = failure;
  }
}

/**
 * The code does not fit what is recorded of its run. Whatever the code makes of it, the attempt ends with it and its task waits for a review: nothing is lost, and code that fits may
 * go on.
 */
export class RecordMismatch extends PawlError {
  override readonly name: string = "RecordMismatch";

  constructor(message: string, options: { readonly cause?: unknown } = {}) {
    super("PAWL_RECORD_MISMATCH", message, { ...options, retryable: false });
  }
}

/** The function cancelled this call, and waits for it no more. */
export class CallCancelled extends PawlError {
  override readonly name: string = "CallCancelled";
  /** Name of the task, or id of the child run. */
  readonly call: string;
  /** How it was cancelled. */
  readonly mode: CancelMode;

  constructor(
    call: string,
    { mode, reason }: { readonly mode: CancelMode; readonly reason: string },
  ) {
    const why = reason === "" ? "" : `: ${reason}`;
    super("PAWL_CALL_CANCELLED", `The function cancelled "${call}" (${mode})${why}.`, {
      retryable: false,
    });
    this.call = call;
    this.mode = mode;
  }
}

/** Too few items of a `map` succeeded for what its `join` asked for. `errors` are those of the failed items, in the order of the items. */
export class JoinFailed extends PawlError {
  override readonly name: string = "JoinFailed";
  /** Errors of the failed items. */
  readonly errors: readonly unknown[];

  constructor(
    map: string,
    counts: { readonly wanted: number; readonly ok: number },
    errors: readonly unknown[],
  ) {
    super(
      "PAWL_JOIN_FAILED",
      `Expected at least ${counts.wanted} items of map "${map}" to succeed, but ${counts.ok} did and ${errors.length} failed.`,
      { cause: errors[0], retryable: false },
    );
    this.errors = errors;
  }
}
