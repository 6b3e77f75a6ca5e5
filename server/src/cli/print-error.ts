import { RejectionSchema } from "@pawl/proto/v1/rejection_pb.js";
import type { CliError } from "./cli-error.js";
import type { CliContext } from "./context.js";
import { cleanLines } from "./format/text.js";
import { messageJson } from "./json.js";

/** Prints an error to stderr: a sentence, the reason, what to do next; or with `--json` one object in one line. */
export function printError(context: CliContext, error: CliError, isJson: boolean): void {
  if (isJson) {
    context.writeError(`${JSON.stringify({ error: errorFields(error) })}\n`);
    return;
  }
  context.writeError(`pawl: ${cleanLines(error.message)}\n`);
  context.writeError(`Reason: ${error.reason} (exit code ${error.exitCode})\n`);
  if (error.next.length === 0) return;
  context.writeError(`Next:\n${error.next.map((line) => `  ${line}\n`).join("")}`);
}

function errorFields(error: CliError): object {
  const { exitCode, reason, message, next, rejection } = error;
  return {
    exitCode,
    reason,
    message,
    next,
    ...(rejection === undefined ? {} : { rejection: messageJson(RejectionSchema, rejection) }),
  };
}
