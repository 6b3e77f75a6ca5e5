import { type HistoryEvent, HistoryEventSchema } from "@pawl/proto/v1/history_pb.js";
import type { Command } from "commander";
import { usageError } from "../cli-error.js";
import type { CliContext } from "../context.js";
import { FollowUps } from "../follow-up.js";
import { eventLine } from "../format/event.js";
import { addKernelOptions, type KernelOptions, UINT32_MAX, wholeNumber } from "../options.js";
import type { Output } from "../output.js";
import { type KernelSession, withKernel } from "../with-kernel.js";

interface HistoryOptions extends KernelOptions {
  readonly from: number;
  readonly stored?: boolean;
}

/** `pawl run history RUN`. */
export function addRunHistory(group: Command, context: CliContext): void {
  const command = group
    .command("history")
    .description("print the recorded events of a run")
    .argument("<run>", "id of the run")
    .option("--from <number>", "first event number to print", wholeNumber(1, UINT32_MAX), 1)
    .option(
      "--stored",
      "with --json, from the first event on: also each event as it is stored, for pawl replay",
    );
  addKernelOptions(command).action((runId: string, options: HistoryOptions) => {
    requireWhole(runId, options);
    return withKernel(context, options, (session) => printHistory(session, runId, options));
  });
}

/** Events as they are stored are for a replay, which needs all of them as objects. */
function requireWhole(runId: string, options: HistoryOptions): void {
  const { stored = false, json = false, from } = options;
  if (!stored || (json && from === 1)) return;
  const why = json ? `with --from ${from} its first are left out` : "only --json has them";
  throw usageError(`Expected --stored to print what pawl replay reads, all of it, but ${why}.`, [
    new FollowUps(options).command("run history", [runId], ["--json", "--stored"]),
  ]);
}

async function printHistory(
  session: KernelSession,
  runId: string,
  { from, stored = false }: HistoryOptions,
): Promise<void> {
  const { kernel, namespace, out, followUps } = session;
  let events = 0;
  const request = { namespace, runId, fromNumber: from, withStored: stored };
  for await (const page of kernel.runs.getHistory(request)) {
    for (const event of page.events) printEvent(out, event);
    events += page.events.length;
  }
  if (out.isJson) return;
  if (events === 0) out.lines(`The run has no event from number ${from} on.`);
  out.next([followUps.command("report", [runId])]);
}

/** One event: an object with `--json`, else a line. */
function printEvent(out: Output, event: HistoryEvent): void {
  if (out.isJson) out.message(HistoryEventSchema, event);
  else out.lines(eventLine(event, out.clock, out.style));
}
