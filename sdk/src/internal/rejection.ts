import type { Rejection } from "@pawl/proto/v1/rejection_pb.js";
import { LeaseLost } from "../abort-reasons.js";
import { AccessDenied, Conflict, NotFound, type PawlError, Rejected, TooLarge } from "../errors.js";

/** Reasons for which the same request may be sent again after a while. */
const TRANSIENT: ReadonlySet<string> = new Set([
  "PAWL_OVERLOADED",
  "PAWL_UNAVAILABLE",
  "PAWL_READ_ONLY",
  "PAWL_TOO_EARLY",
]);

/** True when the same request may be sent again. */
export function isTransient(rejection: Rejection): boolean {
  return TRANSIENT.has(rejection.reason);
}

/** True when the attempt that got this is over, whatever it does. */
export function isAttemptOver(rejection: Rejection): boolean {
  return (
    rejection.reason === "PAWL_LEASE_LOST" ||
    rejection.reason === "PAWL_RUN_OVER" ||
    rejection.reason === "PAWL_RUN_NOT_FOUND" ||
    rejection.reason === "PAWL_RUN_DELETED"
  );
}

/** What the code of an attempt gets that is over: also when its whole run is, it is the end of its attempt. */
export function attemptEnd(rejection: Rejection): LeaseLost {
  const { detail, reason } = rejection;
  if (detail.case === "leaseLost") {
    return new LeaseLost(detail.value.cause);
  }
  return new LeaseLost(reason === "PAWL_LEASE_LOST" ? "" : reason);
}

/** Reasons that no repetition changes. */
const FINAL: ReadonlySet<string> = new Set([
  "PAWL_INVALID_FIELD",
  "PAWL_TOO_LARGE",
  "PAWL_CREDENTIAL_IN_PAYLOAD",
  "PAWL_INVALID_POSITION",
  "PAWL_STORE_REWOUND",
  "PAWL_INVALID_PAGE_TOKEN",
]);

/** The refusal as a typed error. */
export function errorFromRejection(rejection: Rejection): PawlError {
  switch (rejection.reason) {
    case "PAWL_FINGERPRINT_CONFLICT":
      return new Conflict(rejection);
    case "PAWL_LEASE_LOST":
      return attemptEnd(rejection);
    case "PAWL_UNAUTHENTICATED":
    case "PAWL_PERMISSION_DENIED":
      return new AccessDenied(rejection.message, { code: rejection.reason });
    case "PAWL_TOO_LARGE":
      return new TooLarge(rejection.message);
    default:
      return rejection.detail.case === "notFound"
        ? new NotFound(rejection)
        : new Rejected(rejection, { retryable: !FINAL.has(rejection.reason) });
  }
}
