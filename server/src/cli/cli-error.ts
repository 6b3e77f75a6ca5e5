import type { Rejection } from "@pawl/proto/v1/rejection_pb.js";
import { type ExitCode, exitCodes } from "./exit-codes.js";

/** What is known of an error, beyond its sentence. */
export interface CliErrorInfo {
  readonly exitCode: ExitCode;
  /** Stable reason, `PAWL_…`. */
  readonly reason: string;
  /** What may be done next: sentences, or commands as they are typed. */
  readonly next?: readonly string[];
  /** What differs, as the kernel told it. */
  readonly rejection?: Rejection;
  readonly cause?: unknown;
}

/** An error that is told to the person as it is: a sentence, a reason, and what to do next. */
export class CliError extends Error {
  override readonly name = "CliError";
  readonly exitCode: ExitCode;
  readonly reason: string;
  readonly next: readonly string[];
  readonly rejection: Rejection | undefined;

  constructor(message: string, info: CliErrorInfo) {
    super(message, info.cause === undefined ? {} : { cause: info.cause });
    this.exitCode = info.exitCode;
    this.reason = info.reason;
    this.next = info.next ?? [];
    this.rejection = info.rejection;
  }

  /** The same error with other steps. */
  withNext(next: readonly string[]): CliError {
    const { message, exitCode, reason, rejection, cause } = this;
    return new CliError(message, {
      ...{ exitCode, reason, next, cause },
      ...(rejection === undefined ? {} : { rejection }),
    });
  }
}

/** The command line was wrong; nothing was sent. */
export function usageError(message: string, next: readonly string[] = []): CliError {
  return new CliError(message, { exitCode: exitCodes.usage, reason: "PAWL_CLI_USAGE", next });
}
