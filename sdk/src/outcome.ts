import { NotSent, OutcomeUnknown, Refused, type RetryableCallOptions } from "./call-errors.js";
import type { Duration } from "./duration.js";

/** What `httpOutcome` reads of a response. `Response` of `fetch` fits. */
export interface HttpResponseLike {
  /** Status code. */
  readonly status: number;
  /** Headers, as `fetch` has them. */
  readonly headers: { get(name: string): string | null };
}

/** How a sink's answers are read. */
export interface HttpOutcomeOptions {
  /**
   * Status codes with which this sink turns a request away before it did anything. Default 429 alone: a sink that
   * answers 503 may have been a proxy that gave up on a sink that was at work.
   */
  readonly notProcessed?: readonly number[];
  /** Structured data to record with a refusal, for example the sink's error body. JSON. */
  readonly data?: unknown;
  /** The sink's own error code, recorded with a refusal. Default `HTTP_<status>`. */
  readonly sinkCode?: string;
}

/** Client errors that do not say that nothing happened: timeout, conflict, too early. */
const UNDECIDED: ReadonlySet<number> = new Set([408, 409, 425]);

/**
 * Reads what an HTTP answer to an effect means, for `call`:
 *
 *     const response = await fetch(url, { method: "POST", redirect: "error", signal: op.signal, … });
 *     const outcome = httpOutcome(response);
 *     if (outcome !== undefined) throw outcome;
 *
 * 2xx: undefined, it happened. 429: `NotSent`, with the wait the sink asked for. Other 4xx but 408, 409 and 425:
 * `Refused`. Everything else, redirects and 5xx too: `OutcomeUnknown`.
 */
export function httpOutcome(
  response: HttpResponseLike,
  options: HttpOutcomeOptions = {},
): Refused | NotSent | OutcomeUnknown | undefined {
  const { status } = response;
  const { notProcessed = [429], data, sinkCode = `HTTP_${status}` } = options;
  if (status >= 200 && status < 300) {
    return undefined;
  }
  if (notProcessed.includes(status)) {
    return new NotSent(
      `The sink turned the request away unprocessed: HTTP ${status}.`,
      retryAfter(response),
    );
  }
  if (status >= 400 && status < 500 && !UNDECIDED.has(status) && status !== 429) {
    return new Refused(`The sink refused the request: HTTP ${status}.`, { sinkCode, data });
  }
  return new OutcomeUnknown(
    `The sink did not say what happened: HTTP ${status}.`,
    retryAfter(response),
  );
}

/** Longest wait taken from a header, in seconds: 1 day. */
const RETRY_AFTER_S_MAX = 86_400;

/** Retry-After has seconds or a date (RFC 9110, 10.2.3). */
function retryAfter(response: HttpResponseLike): RetryableCallOptions {
  const text = response.headers.get("retry-after")?.trim() ?? "";
  const seconds = /^\d+$/.test(text) ? Number(text) : (Date.parse(text) - Date.now()) / 1_000;
  if (!Number.isFinite(seconds)) {
    return {};
  }
  const wait: Duration = `${Math.ceil(Math.min(Math.max(seconds, 0), RETRY_AFTER_S_MAX))}s`;
  return { retryAfter: wait };
}

/** Errors that only come before a connection is there: of name look-up, connecting, and TLS. */
const BEFORE_SENDING: ReadonlySet<string> = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EAI_FAIL",
  "EAI_NODATA",
  "EAI_NONAME",
  "UND_ERR_CONNECT_TIMEOUT",
  "ERR_TLS_CERT_ALTNAME_INVALID",
  "CERT_HAS_EXPIRED",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
]);

/** System calls that come before anything is sent. */
const BEFORE_SENDING_CALLS: ReadonlySet<string> = new Set([
  "connect",
  "getaddrinfo",
  "queryA",
  "queryAaaa",
]);

/** Deepest chain of causes that is looked at. */
const CAUSES_MAX = 8;

/**
 * Reads what a failed `fetch` (or another of Node's clients) means, for `call`:
 *
 *     const response = await fetch(…).catch((error) => { throw fetchOutcome(error); });
 *
 * Connection refused, name not found, no connection in time, certificate not trusted: `NotSent`. Anything else, a reset
 * connection and an abort too: `OutcomeUnknown`. Use `redirect: "error"`: behind a redirect, the first host may have
 * done it before the second could not be reached.
 */
export function fetchOutcome(error: unknown): NotSent | OutcomeUnknown {
  const isUnsent = isBeforeSending(error, 0);
  const why = describe(error);
  return isUnsent
    ? new NotSent(`The request never left: ${why}`, { cause: error })
    : new OutcomeUnknown(`Nobody knows whether the request arrived: ${why}`, { cause: error });
}

function isBeforeSending(error: unknown, depth: number): boolean {
  if (!(error instanceof Error) || depth === CAUSES_MAX) {
    return false;
  }
  if (error instanceof AggregateError && error.errors.length > 0) {
    // One for each address that was tried: all of them must have failed early.
    return error.errors.every((each) => isBeforeSending(each, depth + 1));
  }
  const code: unknown = Reflect.get(error, "code");
  const call: unknown = Reflect.get(error, "syscall");
  if (typeof code === "string" && BEFORE_SENDING.has(code)) {
    return true;
  }
  if (typeof call === "string") {
    return BEFORE_SENDING_CALLS.has(call);
  }
  return isBeforeSending(error.cause, depth + 1);
}

function describe(error: unknown): string {
  const parts: string[] = [];
  let next: unknown = error;
  while (next instanceof Error && parts.length < 3) {
    if (next.message !== "") parts.push(next.message);
    next = next.cause;
  }
  return parts.length === 0 ? String(error) : parts.join(": ");
}
