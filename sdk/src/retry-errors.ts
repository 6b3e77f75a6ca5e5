import type { Duration } from "./duration.js";
import { DefinitionInvalid } from "./errors.js";
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

/** A task may be put off by 30 days at most. */
const LATER_MS_MAX = 2_592_000_000;

/** Thrown by a handler, made by `later`: not now. The task is given back and uses no attempt. */
export class Later extends Error {
  override readonly name: string = "Later";
  /** Not to be offered before, in ms from now. */
  readonly delayMs: number;

  /** @throws DefinitionInvalid when the duration is ill-formed or above 30 days. */
  constructor(delay: Duration, reason?: string, options?: ErrorOptions) {
    super(reason ?? `Not before ${delay} from now.`, options);
    this.delayMs = parseDuration(delay, "later");
    if (this.delayMs > LATER_MS_MAX) {
      throw new DefinitionInvalid(
        `Expected later to put a task off by at most 30 days, but it is ${delay}. Choose a shorter one, or sleep.`,
      );
    }
  }
}

/**
 * Says *not now*: `throw later("5m", "the bank is closed")`. The task is given back, uses no attempt, and is offered again after the delay; its
 * recorded steps and settled operations stay.
 *
 * @param delay Not to be offered before, from now. At most 30 days.
 * @param reason Why, for people (`pawl why`). At most 1,000 bytes; more is cut.
 * @throws DefinitionInvalid
 */
export function later(delay: Duration, reason?: string, options?: ErrorOptions): Later {
  return new Later(delay, reason, options);
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
