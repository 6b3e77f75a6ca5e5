import { limits } from "../core/limits.js";
import { invalidField, type Rejection } from "../core/rejection.js";
import { RejectionError } from "../kernel/outcome.js";

/** Refusals that the edge itself makes; those of commands come from the core. */

/** When to come back to a kernel that starts or goes away, in ms. */
const comeBackMs = 1000;

/** Refusal of everything while the kernel is going away or cannot write: the same request may be sent again. */
export function unavailable(why: string): Rejection {
  return {
    reason: "PAWL_UNAVAILABLE",
    message: `Expected a kernel that takes requests, but ${why}. Next: send the same request again.`,
    retryAfterMs: comeBackMs,
  };
}

/** Refusal of a message above the bound. It is never to be sent again as it is. */
export function tooLarge(actualBytes: number | undefined): Rejection {
  const expected = `at most ${limits.messageBytesMax} bytes`;
  const actual = actualBytes === undefined ? "longer" : `${actualBytes} bytes`;
  return {
    reason: "PAWL_TOO_LARGE",
    message: `Expected a message of ${expected}, but it is ${actual}. Next: split it, or pass large content by reference.`,
    detail: { case: "invalidField", value: { field: "(message)", expected, actual } },
  };
}

/** Refusal of bytes that are no message of the method. */
export function unreadable(typeName: string, cause: unknown): Rejection {
  const actual = cause instanceof Error ? cause.message : "unreadable";
  return invalidField("(message)", `an encoded ${typeName}`, actual);
}

/** Refusal of a page token that this kernel did not give for this filter. */
export function invalidPageToken(): Rejection {
  const expected = "the token of an earlier answer for the same filter";
  return {
    ...invalidField("page_token", expected, "another one"),
    reason: "PAWL_INVALID_PAGE_TOKEN",
    message: `Expected page_token to be ${expected}, but it is another one. Next: begin again without a token.`,
  };
}

/** What is told of a defect of the kernel: the cause is in its log, not in the answer. */
export function internalFault(): Rejection {
  return {
    reason: "PAWL_INTERNAL",
    message:
      "Expected the kernel to answer, but its own code failed; its log says where. Next: report it to who runs the kernel.",
  };
}

/** A bad value, as an error. */
export function badField(field: string, expected: string, actual: string): RejectionError {
  return new RejectionError(invalidField(field, expected, actual));
}

/** Bytes that are no message of the method, as an error. */
export function unreadableMessage(typeName: string, cause: unknown): RejectionError {
  return new RejectionError(unreadable(typeName, cause));
}
