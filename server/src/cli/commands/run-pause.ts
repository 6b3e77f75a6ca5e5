import { PauseRunResponseSchema, ResumeRunResponseSchema } from "@pawl/proto/v1/run_service_pb.js";
import type { Command } from "commander";
import { CALL_TIMEOUT_MS } from "../connection.js";
import type { CliContext } from "../context.js";
import { clean, count } from "../format/text.js";
import { messageFields } from "../json.js";
import { type KernelSession, withKernel } from "../with-kernel.js";
import { addOrderOptions, type OrderOptions, orderOf } from "./run-order.js";

/** `pawl run pause RUN`. */
export function addRunPause(group: Command, context: CliContext): void {
  const command = group
    .command("pause")
    .description("pause a run: nothing of it is offered until it is resumed; what runs may report");
  addOrderOptions(command).action((runId: string, options: OrderOptions) =>
    withKernel(context, options, (session) => pauseRun(session, runId, options)),
  );
}

/** `pawl run resume RUN`. */
export function addRunResume(group: Command, context: CliContext): void {
  const command = group
    .command("resume")
    .description("let a paused run go on; what came due meanwhile happens now");
  addOrderOptions(command).action((runId: string, options: OrderOptions) =>
    withKernel(context, options, (session) => resumeRun(session, runId, options)),
  );
}

async function pauseRun(
  session: KernelSession,
  runId: string,
  options: OrderOptions,
): Promise<void> {
  const { kernel, out, followUps } = session;
  const request = orderOf(session, runId, options);
  const answer = await kernel.runs.pauseRun(request, { timeoutMs: CALL_TIMEOUT_MS });
  if (out.isJson) {
    out.json({ runId, ...messageFields(PauseRunResponseSchema, answer) });
    return;
  }
  const name = `Run ${out.style("bold", clean(runId))}`;
  const { runningTasks, existing } = answer;
  const still =
    runningTasks === 0
      ? "no task of it runs"
      : `${count(runningTasks, "task")} of it still ${runningTasks === 1 ? "runs" : "run"} and may report, but ${runningTasks === 1 ? "begins" : "begin"} no effect`;
  out.lines(
    existing
      ? `${name} was paused before; nothing was changed, and ${still}.`
      : `${name} is PAUSED: nothing of it is offered until it is resumed, and ${still}.`,
  );
  const version = ["--expected-version", `${answer.version}`];
  out.next([followUps.command("run resume", [runId], version), followUps.command("why", [runId])]);
}

async function resumeRun(
  session: KernelSession,
  runId: string,
  options: OrderOptions,
): Promise<void> {
  const { kernel, out, followUps } = session;
  const request = orderOf(session, runId, options);
  const answer = await kernel.runs.resumeRun(request, { timeoutMs: CALL_TIMEOUT_MS });
  if (out.isJson) {
    out.json({ runId, ...messageFields(ResumeRunResponseSchema, answer) });
    return;
  }
  const name = `Run ${out.style("bold", clean(runId))}`;
  out.lines(
    answer.existing
      ? `${name} was not paused; nothing was changed.`
      : `${name} goes on: what is READY is offered, and what came due meanwhile happens now.`,
  );
  out.next([followUps.command("run watch", [runId])]);
}
