import { SetLegalHoldResponseSchema } from "@pawl/proto/v1/retention_pb.js";
import type { Command } from "commander";
import { CALL_TIMEOUT_MS } from "../connection.js";
import type { CliContext } from "../context.js";
import { clean } from "../format/text.js";
import { messageFields } from "../json.js";
import { addKernelOptions, type KernelOptions, UINT32_MAX, wholeNumber } from "../options.js";
import { type KernelSession, withKernel } from "../with-kernel.js";

interface HoldOptions extends KernelOptions {
  readonly reason: string;
  readonly expectedVersion?: number;
}

/** `pawl hold …`. */
export function addHoldCommands(program: Command, context: CliContext): void {
  const group = program
    .command("hold")
    .description("legal holds: what is held is deleted by nobody, and by no retention");
  addHold(group, context, true);
  addHold(group, context, false);
}

function addHold(group: Command, context: CliContext, held: boolean): void {
  const command = group
    .command(held ? "begin" : "end")
    .description(
      held
        ? "hold a run, open or not; without a run, the whole namespace"
        : "end the hold of a run; without a run, that of the namespace",
    )
    .argument("[run]", "id of the run; absent: the whole namespace")
    .option("--reason <text>", "why, for the record", "")
    .option(
      "--expected-version <number>",
      "only if the run, or the retention of the namespace, has this version",
      wholeNumber(0, UINT32_MAX),
    );
  addKernelOptions(command).action((runId: string | undefined, options: HoldOptions) =>
    withKernel(context, options, (session) => hold(session, { runId, held }, options)),
  );
}

async function hold(
  { kernel, namespace, out, followUps }: KernelSession,
  { runId = "", held }: { readonly runId: string | undefined; readonly held: boolean },
  { reason, expectedVersion }: HoldOptions,
): Promise<void> {
  const expected = expectedVersion === undefined ? {} : { expectedVersion };
  const answer = await kernel.admin.setLegalHold(
    { namespace, runId, held, reason, ...expected },
    { timeoutMs: CALL_TIMEOUT_MS },
  );
  if (out.isJson) {
    out.json({ runId, held, ...messageFields(SetLegalHoldResponseSchema, answer) });
    return;
  }
  const what = runId === "" ? "The namespace" : `Run ${out.style("bold", clean(runId))}`;
  const now = held ? "is held: nobody deletes it" : "is held no more";
  out.lines(
    answer.existing
      ? `${what} ${held ? "was held" : "was not held"} before; nothing was changed.`
      : `${what} ${now}.`,
  );
  out.next([followUps.command("namespace retention show")]);
}
