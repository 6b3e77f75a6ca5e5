import type { Failure, FailureOrigin } from "@pawl/proto/v1/failure_pb.js";
import type { Rejection } from "@pawl/proto/v1/rejection_pb.js";

/** What a `PawlError` may be given besides code and message. */
export interface PawlErrorOptions {
  /** What led to it. */
  readonly cause?: unknown;
  /** False when trying the same again cannot help. Default true. */
  readonly retryable?: boolean;
}

/** Every error that Pawl's SDK makes. `code` is stable; the message is a sentence for people and may change. */
export class PawlError extends Error {
  override readonly name: string = "PawlError";
  /** Stable reason, `PAWL_…`. */
  readonly code: string;
  /** False when trying the same again cannot help: a task that fails with it fails for good. */
  readonly retryable: boolean;

  constructor(code: string, message: string, options: PawlErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.retryable = options.retryable ?? true;
  }

  /** Where the documentation explains this code. */
  get docs(): string {
    return `docs/reference/sdk-errors.md#${this.code.toLowerCase()}`;
  }
}

/** Where the documentation explains a reason that the kernel gives. */
function kernelPage(reason: string): string {
  return `docs/errors/${reason}.md`;
}

/** A value cannot be sent: it is not JSON, or it would not come back as it is. Never tried again. */
export class ValueRefused extends PawlError {
  override readonly name: string = "ValueRefused";
  /** Where in the value, for example `input.items[3].at`. */
  readonly path: string;

  constructor(path: string, message: string) {
    super("PAWL_VALUE_REFUSED", message, { retryable: false });
    this.path = path;
  }
}

/** A schema refused a value. `what` says which: an input, an output, an operation's payload or result, a step. */
export class SchemaRefused extends PawlError {
  override readonly name: string = "SchemaRefused";
  /** What was refused. */
  readonly what: string;
  /** What the schema said, one line each. */
  readonly issues: readonly string[];

  constructor(what: string, issues: readonly string[], options: PawlErrorOptions = {}) {
    super(
      "PAWL_SCHEMA_REFUSED",
      `Expected ${what} to fit its schema, but ${issues.join("; ")}. Correct the value, or the schema.`,
      options,
    );
    this.what = what;
    this.issues = issues;
  }
}

/** A definition (task, plan, operation) or an option is ill-formed. */
export class DefinitionInvalid extends PawlError {
  override readonly name: string = "DefinitionInvalid";

  constructor(message: string) {
    super("PAWL_DEFINITION_INVALID", message, { retryable: false });
  }
}

/** Something is above a bound of the kernel. Never tried again. */
export class TooLarge extends PawlError {
  override readonly name: string = "TooLarge";

  constructor(message: string) {
    super("PAWL_TOO_LARGE", message, { retryable: false });
  }

  override get docs(): string {
    return kernelPage(this.code);
  }
}

/** The kernel refused a command; `rejection.detail` has what differs. Nothing was changed by it. */
export class Rejected extends PawlError {
  override readonly name: string = "Rejected";
  /** The refusal as the kernel sent it. */
  readonly rejection: Rejection;

  constructor(rejection: Rejection, options: PawlErrorOptions = {}) {
    super(rejection.reason, rejection.message, options);
    this.rejection = rejection;
  }

  override get docs(): string {
    return kernelPage(this.code);
  }
}

/** The same identity (run id, operation key) came with another content. The recorded one stays. */
export class Conflict extends Rejected {
  override readonly name: string = "Conflict";

  constructor(rejection: Rejection) {
    super(rejection, { retryable: false });
  }
}

/** The run, task, operation, review or namespace does not exist. */
export class NotFound extends Rejected {
  override readonly name: string = "NotFound";

  constructor(rejection: Rejection) {
    super(rejection, { retryable: false });
  }
}

/** No kernel answered in time. Streams go on trying; only this call gave up. */
export class Unavailable extends PawlError {
  override readonly name: string = "Unavailable";

  constructor(message: string, options: PawlErrorOptions = {}) {
    super("PAWL_UNAVAILABLE", message, options);
  }

  override get docs(): string {
    return kernelPage(this.code);
  }
}

/** Something else than a Pawl kernel answered at this address, for example a proxy's HTML page. */
export class NotAKernel extends PawlError {
  override readonly name: string = "NotAKernel";

  constructor(message: string, options: PawlErrorOptions = {}) {
    super("PAWL_NOT_A_KERNEL", message, options);
  }
}

/** What an `AccessDenied` may be given besides its reason. */
export interface AccessDeniedOptions extends PawlErrorOptions {
  /** The kernel's own reason. Default: something before it refused, `PAWL_ACCESS_DENIED`. */
  readonly code?: "PAWL_UNAUTHENTICATED" | "PAWL_PERMISSION_DENIED";
}

/**
 * The kernel does not let this client in (`PAWL_UNAUTHENTICATED`: its token is missing, unknown, expired or revoked), or not do this
 * (`PAWL_PERMISSION_DENIED`: its role is another); or something before the kernel refused (`PAWL_ACCESS_DENIED`).
 */
export class AccessDenied extends PawlError {
  override readonly name: string = "AccessDenied";

  constructor(message: string, options: AccessDeniedOptions = {}) {
    super(options.code ?? "PAWL_ACCESS_DENIED", message, options);
  }

  override get docs(): string {
    return this.code === "PAWL_ACCESS_DENIED" ? super.docs : kernelPage(this.code);
  }
}

/** The client, worker or embedded kernel was closed by the caller. */
export class Closed extends PawlError {
  override readonly name: string = "Closed";

  constructor(what: string) {
    super(
      "PAWL_CLOSED",
      `Expected an open ${what}, but it was closed. Make a new one; what was acknowledged goes on in the kernel.`,
    );
  }
}

/** A wait ended before what it waited for. The run goes on. */
export class WaitTimedOut extends PawlError {
  override readonly name: string = "WaitTimedOut";

  constructor(message: string, options: PawlErrorOptions = {}) {
    super("PAWL_WAIT_TIMED_OUT", message, options);
  }
}

/** A failure as it is recorded: the same in every language, with its chain in `cause`. */
export class RecordedFailure extends PawlError {
  override readonly name: string = "RecordedFailure";
  /** The error's class name where it was thrown, or a word the handler chose. */
  readonly kind: string;
  /** Structured data of the handler's choice, decoded. Undefined when there is none. */
  readonly data: unknown;
  /** Who made it. */
  readonly origin: FailureOrigin;
  /** Stack trace where it was thrown, as text. Empty when none was sent. */
  readonly recordedStack: string;

  constructor(failure: Failure, parts: { readonly data: unknown; readonly cause: unknown }) {
    super(failure.code, failure.message, { cause: parts.cause, retryable: failure.retryable });
    this.kind = failure.kind;
    this.data = parts.data;
    this.origin = failure.origin;
    this.recordedStack = failure.stack;
  }

  /** The code is its thrower's own: only the kernel's have a page. Otherwise empty. */
  override get docs(): string {
    return this.code.startsWith("PAWL_") ? kernelPage(this.code) : "";
  }
}

/** A run ended, but not with an output. `cause` is the recorded failure. */
export class RunEnded extends PawlError {
  override readonly name: string = "RunEnded";
  /** Id of the run. */
  readonly runId: string;
  /** The recorded failure. Undefined when the kernel gave none. */
  readonly failure: RecordedFailure | undefined;

  constructor(code: string, runId: string, message: string, failure: RecordedFailure | undefined) {
    super(code, message, { cause: failure, retryable: false });
    this.runId = runId;
    this.failure = failure;
  }
}

/** The run failed: a task failed for good. */
export class RunFailed extends RunEnded {
  override readonly name: string = "RunFailed";

  constructor(runId: string, failure: RecordedFailure | undefined) {
    super("PAWL_RUN_FAILED", runId, `Run "${runId}" failed: ${explain(failure)}`, failure);
  }
}

/** The failure and what led to it, as far as a line takes. */
function explain(failure: RecordedFailure | undefined): string {
  if (failure === undefined) {
    return "no reason is recorded.";
  }
  const cause = failure.cause instanceof RecordedFailure ? failure.cause : undefined;
  return cause === undefined
    ? failure.message
    : `${failure.message} ${cause.kind}: ${cause.message}`;
}

/** The run was cancelled. */
export class RunCancelled extends RunEnded {
  override readonly name: string = "RunCancelled";

  constructor(runId: string, failure: RecordedFailure | undefined) {
    const why = failure?.message ?? "no reason was given";
    super("PAWL_RUN_CANCELLED", runId, `Run "${runId}" was cancelled: ${why}`, failure);
  }
}

/** The run was terminated. */
export class RunTerminated extends RunEnded {
  override readonly name: string = "RunTerminated";

  constructor(runId: string, failure: RecordedFailure | undefined) {
    const why = failure?.message ?? "no reason was given";
    super("PAWL_RUN_TERMINATED", runId, `Run "${runId}" was terminated: ${why}`, failure);
  }
}

/**
 * A step failed. It is final when its own retry is used up or, without one, as soon as the code goes on after it: then it is recorded, and thrown again at the same
 * place without running anything. One that ends the attempt is not recorded, and the next attempt runs the step again.
 */
export class StepFailed extends PawlError {
  override readonly name: string = "StepFailed";
  /** Name of the step. */
  readonly step: string;
  /** The recorded failure. */
  readonly failure: RecordedFailure;

  constructor(step: string, failure: RecordedFailure) {
    super("PAWL_STEP_FAILED", `Step "${step}" failed for good: ${failure.message}`, {
      cause: failure,
      retryable: failure.retryable,
    });
    this.step = step;
    this.failure = failure;
  }
}
