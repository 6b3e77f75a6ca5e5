import { DeleteRunResponseSchema } from "@pawl/proto/v1/retention_pb.js";
import type { Command } from "commander";
import { CALL_TIMEOUT_MS } from "../connection.js";
import type { CliContext } from "../context.js";
import { clean, count } from "../format/text.js";
import { formatTime } from "../format/time.js";
import { messageFields } from "../json.js";
import { addKernelOptions, type KernelOptions, UINT32_MAX, wholeNumber } from "../options.js";
import { type KernelSession, withKernel } from "../with-kernel.js";

interface DeleteOptions extends KernelOptions {
  readonly reason: string;
  readonly expectedVersion?: number;
  readonly dryRun?: boolean;
}

/** `pawl run delete RUN`. */
export function addRunDelete(group: Command, context: CliContext): void {
  const command = group
    .command("delete")
    .description("delete a run that has ended: nothing of it is served any more")
    .argument("<run>", "id of the run")
    .option("--dry-run", "only say whether it would be deleted, or why not")
    .option("--reason <text>", "why, for the record", "")
    .option(
      "--expected-version <number>",
      "only if the run has this version",
      wholeNumber(1, UINT32_MAX),
    );
  addKernelOptions(command).action((runId: string, options: DeleteOptions) =>
    withKernel(context, options, (session) => deleteRun(session, runId, options)),
  );
}

async function deleteRun(
  { kernel, namespace, out, followUps }: KernelSession,
  runId: string,
  { reason, expectedVersion, dryRun = false }: DeleteOptions,
): Promise<void> {
  const expected = expectedVersion === undefined ? {} : { expectedVersion };
  const answer = await kernel.runs.deleteRun(
    { namespace, runId, reason, dryRun, ...expected },
    { timeoutMs: CALL_TIMEOUT_MS },
  );
  if (out.isJson) {
    out.json({ runId, dryRun, ...messageFields(DeleteRunResponseSchema, answer) });
    return;
  }
  const run = `Run ${out.style("bold", clean(runId))}`;
  const { existing, events, tombstoneUntil } = answer;
  const again =
    tombstoneUntil === undefined
      ? "never begins again"
      : `does not begin again before ${formatTime(tombstoneUntil, out.clock)}`;
  if (existing) {
    out.lines(`${run} had been deleted before; nothing was changed, and its id ${again}.`);
  } else if (dryRun) {
    out.lines(`${run} would be deleted, with ${count(events, "event")}; its id then ${again}.`);
    out.next([followUps.command("run delete", [runId])]);
  } else {
    out.lines(`${run} is deleted, with ${count(events, "event")}; its id ${again}.`);
  }
}
