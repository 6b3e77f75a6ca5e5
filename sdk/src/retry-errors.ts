import type { Duration } from "./duration.js";
import { parseDuration } from "./internal/duration-ms.js";

/** Thrown by a handler: try again, not earlier than after this long, instead of the policy's wait. */
export class RetryAfter extends Error {
  override readonly name: string = "RetryAfter";
  /** Not before this many ms from now. */
  readonly retryAfterMs: number;

  /** @throws DefinitionInvalid when the duration is ill-formed. */
  constructor(after: Duration, reason?: string, options?: ErrorOptions) {
    super(reason ?? `Try again after ${after}.`, options);
    this.retryAfterMs = parseDuration(after, "RetryAfter");
  }
}

/** Thrown by a handler: trying again cannot help. The task fails for good, whatever its retry policy says. */
export class Fatal extends Error {
  override readonly name: string = "Fatal";
  /** Trying again cannot help. */
  readonly retryable: false = false;
  /** Structured data to record with the failure. JSON. */
  readonly data: unknown;

  constructor(reason: string, options: ErrorOptions & { readonly data?: unknown } = {}) {
    super(reason, options);
    this.data = options.data;
  }
}
