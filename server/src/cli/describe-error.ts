import { durationMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { ErrorInfoSchema, RetryInfoSchema } from "@pawl/proto/google/rpc/error_details_pb.js";
import { type Rejection, RejectionSchema } from "@pawl/proto/v1/rejection_pb.js";
import { CliError } from "./cli-error.js";
import { type ExitCode, exitCodes } from "./exit-codes.js";
import type { FollowUps } from "./follow-up.js";
import { formatLength } from "./format/time.js";
import { isKnownReason, nextAfter } from "./next-steps.js";
import { NO_ANSWER } from "./sent-again.js";

/** What describing an error needs to know of the command. */
export interface ErrorPlace {
  /** Address of the kernel. */
  readonly url: string;
  readonly followUps: FollowUps;
  /** What the command itself knows to do next after a refusal. */
  readonly nextSteps?:
    | ((reason: string, followUps: FollowUps) => readonly string[] | undefined)
    | undefined;
}

/** A refusal that came inside an answer, as an error. */
export function refusedBy(rejection: Rejection, followUps: FollowUps): CliError {
  const { reason, message } = rejection;
  const next = nextSteps(reason, message, { followUps });
  return new CliError(whatOf(message), { exitCode: exitCodeOf(reason), reason, next, rejection });
}

/** A refusal without the kernel's own next step, which is for programs too: a person is told it as a list. */
function whatOf(message: string): string {
  return NEXT_LAST.exec(message)?.[1] ?? message;
}

/** The kernel's next step stands last; what stands before it may hold text of others, and the same word in it. */
const NEXT_LAST = /^(.*) Next: (.*)$/s;

/** Reasons of which the kernel knows better what may follow than a table of reasons does. */
const TOLD_BY_KERNEL: ReadonlySet<string> = new Set(["PAWL_ILLEGAL_TRANSITION"]);

/** What the command knows, else what the table has; before it what the kernel said where it knows better, and alone where nobody here knows the reason. */
function nextSteps(
  reason: string,
  message: string,
  { nextSteps: ofCommand, followUps }: Omit<ErrorPlace, "url">,
): readonly string[] {
  const own = ofCommand?.(reason, followUps);
  const [, , next = ""] = NEXT_LAST.exec(message) ?? [];
  const ofKernel = next === "" ? [] : [`${next.charAt(0).toUpperCase()}${next.slice(1)}`];
  if (own === undefined && ofKernel.length > 0 && !isKnownReason(reason)) return ofKernel;
  return [
    ...(TOLD_BY_KERNEL.has(reason) ? ofKernel : []),
    ...(own ?? nextAfter(reason, followUps)),
  ];
}

/** Makes of anything thrown an error that says what was expected, what happened, and what to do next. */
export function describeError(error: unknown, place: ErrorPlace): CliError {
  return error instanceof ConnectError ? describeCall(error, place) : describeOwn(error);
}

/** The same for what was thrown by this process itself, and not by a call. */
export function describeOwn(error: unknown): CliError {
  if (error instanceof CliError) return error;
  const reason = codeOf(error);
  if (error instanceof Error && reason?.startsWith("PAWL_") === true) {
    return new CliError(error.message, { exitCode: exitCodeOf(reason), reason, cause: error });
  }
  return describeDefect(error);
}

/** An error nobody foresaw: told with its stack, since the stack is what its report needs. */
function describeDefect(error: unknown): CliError {
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return new CliError(`Expected the command to end in a result, but its own code failed: ${text}`, {
    exitCode: exitCodes.refused,
    reason: "PAWL_CLI_DEFECT",
    next: ["Report this with the text above; what the kernel acknowledged before stays."],
    cause: error,
  });
}

function describeCall(error: ConnectError, place: ErrorPlace): CliError {
  const rejection = error.findDetails(RejectionSchema)[0];
  const reason = rejection?.reason || error.findDetails(ErrorInfoSchema)[0]?.reason;
  if (reason === undefined || reason === "") return describeSilence(error, place);
  const retryDelay = error.findDetails(RetryInfoSchema)[0]?.retryDelay;
  const again =
    retryDelay === undefined
      ? []
      : [`Give the same command again in ${formatLength(durationMs(retryDelay))}.`];
  const message = rejection?.message || error.rawMessage;
  return new CliError(whatOf(message), {
    exitCode: exitCodeOf(reason),
    reason,
    next: [...again, ...nextSteps(reason, message, place)],
    cause: error,
    ...(rejection === undefined ? {} : { rejection }),
  });
}

/** Errors that no kernel worded: nothing answered, or something else did. */
function describeSilence(error: ConnectError, place: ErrorPlace): CliError {
  const { url, followUps } = place;
  const again = place.nextSteps?.(NO_ANSWER, followUps) ?? [
    "Give the same command again: what has happened is answered as existing.",
  ];
  const systemCode = systemCodeOf(error);
  if (systemCode === "ECONNREFUSED" || systemCode === "ENOTFOUND") {
    return unavailable(`Expected a kernel at ${url}, but nothing listens there.`, error, [
      "npx --no pawl serve",
      "Or say where the kernel is: --url URL, or PAWL_URL in the environment.",
    ]);
  }
  if (systemCode !== undefined && untrusted.test(systemCode)) {
    return unavailable(
      `Expected the kernel at ${url} to show a certificate that this machine trusts, but it does not (${error.rawMessage}).`,
      error,
      ["Name the file of the authority that signed it, in PEM: PAWL_CA=FILE in the environment."],
    );
  }
  switch (error.code) {
    case Code.DeadlineExceeded:
      return unavailable(
        `Expected an answer from the kernel at ${url} in time, but none came. What was asked may have happened.`,
        error,
        [...again, followUps.command("info")],
      );
    case Code.Unavailable:
    case Code.Aborted:
    case Code.Canceled:
      return unavailable(
        `Expected the kernel at ${url} to answer, but the connection ended (${error.rawMessage}).`,
        error,
        [
          ...again,
          ...(url.startsWith("http:")
            ? ["A kernel with TLS has an https address: --url, or PAWL_URL."]
            : []),
        ],
      );
    case Code.Unimplemented:
      return unavailable(
        `Expected the server at ${url} to know this call, but it does not: it is an older kernel, or none.`,
        error,
        [followUps.command("info")],
      );
    default:
      return unavailable(
        `Expected a Pawl kernel at ${url}, but what answers there speaks otherwise (${error.rawMessage}).`,
        error,
        ["Check the address; a proxy in between must pass HTTP/2 on.", "npx --no pawl serve"],
      );
  }
}

function unavailable(message: string, cause: unknown, next: readonly string[]): CliError {
  return new CliError(message, {
    exitCode: exitCodes.unavailable,
    reason: "PAWL_CLI_NO_KERNEL",
    next,
    cause,
  });
}

function exitCodeOf(reason: string): ExitCode {
  if (reason === "PAWL_UNAVAILABLE") return exitCodes.unavailable;
  return reason === "PAWL_STORE_FAILED" ? exitCodes.storeFailed : exitCodes.refused;
}

/** How Node.js names what it finds wrong with a certificate. */
const untrusted =
  /^(?:CERT_|ERR_TLS_CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_(?:GET_ISSUER|VERIFY))/;

/** The system's own code, looked for along the chain of causes. */
function systemCodeOf(error: unknown): string | undefined {
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    const code = codeOf(at);
    if (code !== undefined) return code;
    if (at instanceof AggregateError && at.errors.length > 0) return codeOf(at.errors[0]);
  }
  return undefined;
}

/** The code of an error of Node.js or of Pawl; undefined: it has none. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string"
    ? error.code
    : undefined;
}
