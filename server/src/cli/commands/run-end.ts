import { RunStatusSchema } from "@pawl/proto/v1/run_pb.js";
import {
  CancelRunResponseSchema,
  TerminateRunResponseSchema,
} from "@pawl/proto/v1/run_service_pb.js";
import type { Command } from "commander";
import { CALL_TIMEOUT_MS } from "../connection.js";
import type { CliContext } from "../context.js";
import { enumWord } from "../format/enum-word.js";
import { isOpen } from "../format/run.js";
import { clean } from "../format/text.js";
import { messageFields } from "../json.js";
import { type KernelSession, withKernel } from "../with-kernel.js";
import { addOrderOptions, type OrderOptions, orderOf } from "./run-order.js";

/** `pawl run cancel RUN`. */
export function addRunCancel(group: Command, context: CliContext): void {
  const command = group
    .command("cancel")
    .description(
      "ask a run to stop: waiting tasks are cancelled, running ones are told and get their grace",
    );
  addOrderOptions(command).action((runId: string, options: OrderOptions) =>
    withKernel(context, options, (session) => cancelRun(session, runId, options)),
  );
}

/** `pawl run terminate RUN`. */
export function addRunTerminate(group: Command, context: CliContext): void {
  const command = group
    .command("terminate")
    .description(
      "end a run at once, without clean-up; what its workers still report changes nothing",
    );
  addOrderOptions(command).action((runId: string, options: OrderOptions) =>
    withKernel(context, options, (session) => terminateRun(session, runId, options)),
  );
}

async function cancelRun(
  session: KernelSession,
  runId: string,
  options: OrderOptions,
): Promise<void> {
  const { kernel, out, followUps } = session;
  const request = orderOf(session, runId, options);
  const answer = await kernel.runs.cancelRun(request, { timeoutMs: CALL_TIMEOUT_MS });
  if (out.isJson) {
    out.json({ runId, ...messageFields(CancelRunResponseSchema, answer) });
    return;
  }
  const name = `Run ${out.style("bold", clean(runId))}`;
  const status = enumWord(RunStatusSchema, answer.status);
  const now = isOpen(answer.status)
    ? "its running tasks have been told and may still clean up"
    : `it is ${status}`;
  out.lines(
    answer.existing
      ? `${name} had been asked to stop before; nothing was changed, and ${now}.`
      : `${name} was asked to stop; ${now}.`,
  );
  out.next([followUps.command(isOpen(answer.status) ? "run watch" : "report", [runId])]);
}

async function terminateRun(
  session: KernelSession,
  runId: string,
  options: OrderOptions,
): Promise<void> {
  const { kernel, out, followUps } = session;
  const request = orderOf(session, runId, options);
  const answer = await kernel.runs.terminateRun(request, { timeoutMs: CALL_TIMEOUT_MS });
  if (out.isJson) {
    out.json({ runId, ...messageFields(TerminateRunResponseSchema, answer) });
    return;
  }
  const name = `Run ${out.style("bold", clean(runId))}`;
  out.lines(
    answer.existing
      ? `${name} had been terminated before; nothing was changed.`
      : `${name} is TERMINATED. Effects that were under way are in its ledger.`,
  );
  out.next([followUps.command("op list", [runId]), followUps.command("report", [runId])]);
}
