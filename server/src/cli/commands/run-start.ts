import { randomUUID } from "node:crypto";
import { resolve } from "node:path";
import { create } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import { type Payload, PayloadSchema } from "@pawl/proto/v1/payload_pb.js";
import type { Plan } from "@pawl/proto/v1/plan_pb.js";
import {
  OnExisting,
  OnExistingSchema,
  type StartRunResult,
  StartRunResultSchema,
} from "@pawl/proto/v1/run_service_pb.js";
import { type VersionMode, VersionModeSchema } from "@pawl/proto/v1/version_pb.js";
import type { Command } from "commander";
import { usageError } from "../cli-error.js";
import { CALL_TIMEOUT_MS } from "../connection.js";
import type { CliContext } from "../context.js";
import { refusedBy } from "../describe-error.js";
import { clean } from "../format/text.js";
import { messageFields } from "../json.js";
import {
  addKernelOptions,
  enumWordOption,
  type KernelOptions,
  keyValue,
  readLength,
} from "../options.js";
import { readPlanFile, readText } from "../plan-file.js";
import { sameAgain } from "../sent-again.js";
import { type KernelSession, withKernel } from "../with-kernel.js";

interface StartOptions extends KernelOptions {
  readonly plan: string;
  readonly input?: string;
  readonly id?: string;
  readonly onExisting?: OnExisting;
  readonly requestId?: string;
  readonly runTimeout?: number;
  readonly current?: VersionMode;
  readonly label?: readonly (readonly [string, string])[];
}

/** `pawl run start WORKFLOW --plan FILE`. */
export function addRunStart(group: Command, context: CliContext): void {
  const command = group
    .command("start")
    .description("start a run of a plan; the same id with the same request is answered as existing")
    .argument("<workflow>", "name of the workflow")
    .requiredOption(
      "--plan <file>",
      "the plan: a file in protobuf's JSON form of pawl.v1.Plan, or a JavaScript module that exports it",
    )
    .option("--input <json>", "the run's input: JSON, or @FILE with JSON in it")
    .option("--id <run>", "id of the run, the identity of the start (default: a new UUID)")
    .option(
      "--on-existing <policy>",
      "what to do with a run of this id: attach, refuse, replace-open, restart-failed, restart-closed (default: attach)",
      enumWordOption(OnExistingSchema),
    )
    .option(
      "--run-timeout <length>",
      "how long the run may take in all, such as 30d or 90s; then it fails with PAWL_RUN_TIMED_OUT (default: no limit)",
      readLength,
    )
    .option(
      "--request-id <id>",
      "tells this start from a second one; give it again to send the same (default: a new UUID)",
    )
    .option(
      "--current <mode>",
      "go by the current version of the workflow, in tasks of the plan of kind WORKFLOW@current: pinned, follow (default: as the plan says)",
      enumWordOption(VersionModeSchema),
    )
    .option("--label <key=value>", "a label for lists; may be given again", keyValue);
  addKernelOptions(command).action(async (workflow: string, options: StartOptions) => {
    const plan = await readPlanFile(context, options.plan, "--plan");
    const input = await readContent(context, "--input", options.input);
    const { id: runId = randomUUID(), requestId = randomUUID() } = options;
    const start = {
      ...{ workflow, plan, input, runId, requestId },
      onExisting: options.onExisting ?? OnExisting.ATTACH,
      runTimeoutMs: options.runTimeout,
      current: options.current,
      labels: (options.label ?? []).map(([key, value]) => ({ key, value })),
    };
    const made = [
      ...(options.id === undefined ? ["--id", runId] : []),
      ...(options.requestId === undefined ? ["--request-id", requestId] : []),
    ];
    const send = (session: KernelSession): Promise<void> => startRun(session, start);
    await withKernel(context, options, send, sameAgain(made));
  });
}

interface Start {
  readonly workflow: string;
  readonly plan: Plan;
  readonly input: Payload | undefined;
  readonly runId: string;
  readonly onExisting: OnExisting;
  readonly requestId: string;
  readonly runTimeoutMs: number | undefined;
  readonly current: VersionMode | undefined;
  readonly labels: readonly { readonly key: string; readonly value: string }[];
}

async function startRun(session: KernelSession, start: Start): Promise<void> {
  const { kernel, namespace, followUps } = session;
  const { workflow, plan, input, runId, labels, onExisting, requestId, runTimeoutMs } = start;
  const run = {
    workflow,
    plan,
    runId,
    onExisting,
    requestId,
    labels: [...labels],
    ...(input && { input }),
    ...(start.current === undefined ? {} : { versionChoice: { mode: start.current } }),
    ...(runTimeoutMs === undefined ? {} : { runTimeout: durationFromMs(runTimeoutMs) }),
  };
  const { results, position } = await kernel.runs.startRuns(
    { namespace, runs: [run] },
    { timeoutMs: CALL_TIMEOUT_MS },
  );
  const [result] = results;
  if (result?.rejection !== undefined) throw refusedBy(result.rejection, followUps);
  if (result === undefined) {
    throw new Error(`Expected one result for the start of run "${runId}", but none came`);
  }
  printStarted(session, start, { result, position });
}

function printStarted(
  { out, followUps }: KernelSession,
  { runId, workflow }: Start,
  { result, position }: { readonly result: StartRunResult; readonly position: Uint8Array },
): void {
  if (out.isJson) {
    const { correlation: _, ...fields } = messageFields(StartRunResultSchema, result);
    out.json({ runId, ...fields, position: Buffer.from(position).toString("base64") });
    return;
  }
  const name = `Run ${out.style("bold", clean(runId))} of workflow "${clean(workflow)}"`;
  const begun =
    result.incarnation > 1
      ? `begins once more, as incarnation ${result.incarnation}`
      : "is started";
  out.lines(
    result.existing
      ? `${name} existed already with the same request; nothing was changed.`
      : `${name} ${begun}: its start is durable, and its tasks wait for workers.`,
  );
  out.next([followUps.command("run watch", [runId]), followUps.command("why", [runId])]);
}

/** Reads `JSON` or `@FILE` as content of type application/json, its bytes as they were given. */
export async function readContent(
  context: CliContext,
  option: string,
  given: string | undefined,
): Promise<Payload | undefined> {
  if (given === undefined) return undefined;
  const text = given.startsWith("@")
    ? await readText(resolve(context.cwd, given.slice(1)), option)
    : given;
  try {
    JSON.parse(text);
  } catch (error) {
    const found = error instanceof Error ? error.message : String(error);
    throw usageError(`Expected ${option} to be JSON or @FILE, but ${found}.`, [
      `Text is JSON in double quotes, and the shell needs quotes around those: ${option} '"text"'.`,
    ]);
  }
  const data = new TextEncoder().encode(text);
  return create(PayloadSchema, {
    contentType: "application/json",
    body: { case: "data", value: data },
  });
}
