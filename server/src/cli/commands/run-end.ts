import { RunStatusSchema } from "@pawl/proto/v1/run_pb.js";
import {
  CancelRunResponseSchema,
  TerminateRunResponseSchema,
} from "@pawl/proto/v1/run_service_pb.js";
import type { Command } from "commander";
import type { CliContext } from "../context.js";
import { enumWord } from "../format/enum-word.js";
import { isOpen } from "../format/run.js";
import { addRunOrder } from "./run-order.js";

/** `pawl run cancel RUN`. */
export function addRunCancel(group: Command, context: CliContext): void {
  addRunOrder(group, context, {
    name: "cancel",
    description:
      "ask a run to stop: waiting tasks are cancelled, running ones are told and get their grace",
    schema: CancelRunResponseSchema,
    send: (kernel, request, options) => kernel.runs.cancelRun(request, options),
    say: ({ existing, status }, run) => {
      const now = isOpen(status)
        ? "its running tasks have been told and may still clean up"
        : `it is ${enumWord(RunStatusSchema, status)}`;
      return existing
        ? `${run} had been asked to stop before; nothing was changed, and ${now}.`
        : `${run} was asked to stop; ${now}.`;
    },
    next: ({ status }, runId, followUps) => [
      followUps.command(isOpen(status) ? "run watch" : "report", [runId]),
    ],
  });
}

/** `pawl run terminate RUN`. */
export function addRunTerminate(group: Command, context: CliContext): void {
  addRunOrder(group, context, {
    name: "terminate",
    description:
      "end a run at once, without clean-up; what its workers still report changes nothing",
    schema: TerminateRunResponseSchema,
    send: (kernel, request, options) => kernel.runs.terminateRun(request, options),
    say: ({ existing }, run) =>
      existing
        ? `${run} had been terminated before; nothing was changed.`
        : `${run} is TERMINATED. Effects that were under way are in its ledger.`,
    next: (_answer, runId, followUps) => [
      followUps.command("op list", [runId]),
      followUps.command("report", [runId]),
    ],
  });
}
