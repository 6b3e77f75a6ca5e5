import { Code, ConnectError } from "@connectrpc/connect";
import { RejectionSchema } from "@pawl/proto/v1/rejection_pb.js";
import { AccessDenied, NotAKernel, PawlError, Unavailable } from "../errors.js";
import { errorFromRejection, isTransient } from "./rejection.js";

/** What a failed call means. */
export interface CallFailure {
  /** As a typed error. */
  readonly error: PawlError;
  /** True when the same request may be sent again. */
  readonly isTransient: boolean;
  /** True when something answered that is no kernel, or one that does not let this client in. */
  readonly isForeign: boolean;
}

/** Signs in Connect's and Node's messages that no gRPC server answered. They are for people, hence not stable. */
const FOREIGN = /content[- ]type|Protocol error|ERR_HTTP2_ERROR|missing trailer|missing status/i;

/**
 * Reads what went wrong with a call.
 *
 * @param url Where the kernel was expected, for the message.
 */
export function readCallFailure(cause: unknown, url: string): CallFailure {
  if (cause instanceof PawlError) {
    return { error: cause, isTransient: false, isForeign: false };
  }
  const error = ConnectError.from(cause);
  const rejection = error.findDetails(RejectionSchema)[0];
  if (rejection !== undefined) {
    const isAgain = isTransient(rejection);
    return { error: errorFromRejection(rejection), isTransient: isAgain, isForeign: false };
  }
  const what = describe(error);
  if (error.code === Code.Unauthenticated || error.code === Code.PermissionDenied) {
    const message = `Expected the Pawl kernel at ${url} to let this client in, but it answered "${what}". Check the token.`;
    return { error: new AccessDenied(message, { cause }), isTransient: false, isForeign: true };
  }
  if (error.code === Code.Unimplemented || FOREIGN.test(what)) {
    const message =
      `Expected a Pawl kernel at ${url}, but something else answered (${what}): perhaps a proxy or a web page. ` +
      "Check the address; a proxy must pass gRPC (HTTP/2) through.";
    const isForGood = error.code === Code.Unimplemented;
    return { error: new NotAKernel(message, { cause }), isTransient: !isForGood, isForeign: true };
  }
  const who = /^HTTP \d+$/.test(what) ? `something before it answered ${what}` : what;
  const message = `Expected an answer of the Pawl kernel at ${url}, but ${who}. Is it running? The same request may be sent again.`;
  return { error: new Unavailable(message, { cause }), isTransient: true, isForeign: false };
}

function describe(error: ConnectError): string {
  const parts = [error.rawMessage];
  for (let cause = error.cause; cause instanceof Error && parts.length < 4; cause = cause.cause) {
    if (!parts.includes(cause.message)) parts.push(cause.message);
  }
  return parts
    .filter((part) => part !== "")
    .join(": ")
    .slice(0, 500);
}
