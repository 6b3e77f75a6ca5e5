import { createHash } from "node:crypto";
import { toBinary, toJson } from "@bufbuild/protobuf";
import { type Plan, PlanSchema } from "@pawl/proto/v1/plan_pb.js";
import {
  DiffPlansResponseSchema,
  GetPlanResponseSchema,
  PlanVersionSchema,
} from "@pawl/proto/v1/plan_version_pb.js";
import { type Command, Option } from "commander";
import { usageError } from "../cli-error.js";
import { CALL_TIMEOUT_MS } from "../connection.js";
import type { CliContext } from "../context.js";
import { changedTable, countChanged, planTable, versionTable } from "../format/plan.js";
import { drawPlan, type GraphLanguage, graphLanguages } from "../format/plan-graph.js";
import { principalName } from "../format/principal.js";
import { clean, count } from "../format/text.js";
import { formatTime } from "../format/time.js";
import { addKernelOptions, type KernelOptions, UINT32_MAX, wholeNumber } from "../options.js";
import { Output } from "../output.js";
import { editablePlan, readPlanFile } from "../plan-file.js";
import { type KernelSession, withKernel } from "../with-kernel.js";
import { addPlanRevise, dryRun, printRevised } from "./plan-revise.js";

interface ShowOptions extends KernelOptions {
  readonly planVersion?: number;
  readonly draw?: GraphLanguage;
  readonly edit?: boolean;
}

/** `pawl plan …`. */
export function addPlanCommands(program: Command, context: CliContext): void {
  const group = program
    .command("plan")
    .description("the plan of a run: its versions, how they differ, and how to revise it");
  addShow(group, context);
  addList(group, context);
  addDiff(group, context);
  addPlanRevise(group, context);
  addHash(group, context);
}

function addShow(group: Command, context: CliContext): void {
  const command = group
    .command("show")
    .description(
      "show the plan of a run: its tasks and what they need, as text, as a graph, or to be edited",
    )
    .argument("<run>", "id of the run")
    .option("--plan-version <number>", "this version (default: the present one)", planVersion())
    .addOption(
      new Option(
        "--draw <language>",
        "the graph for a program that draws it: mermaid, dot",
      ).choices(graphLanguages),
    )
    .option("--edit", "the plan alone, as JSON for a file that pawl plan revise takes");
  addKernelOptions(command).action((runId: string, options: ShowOptions) => {
    if ([options.edit, options.json, options.draw].filter(Boolean).length > 1) {
      throw usageError("Expected one of --draw, --edit and --json, but there are several.");
    }
    return withKernel(context, options, (session) => showPlan(session, runId, options));
  });
}

function planVersion(): (text: string) => number {
  return wholeNumber(1, UINT32_MAX);
}

async function showPlan(
  session: KernelSession,
  runId: string,
  { planVersion: wanted = 0, draw, edit }: ShowOptions,
): Promise<void> {
  const { kernel, namespace, out, followUps } = session;
  const answer = await kernel.runs.getPlan(
    { namespace, runId, planVersion: wanted },
    { timeoutMs: CALL_TIMEOUT_MS },
  );
  const { plan, version } = answer;
  if (plan === undefined || version === undefined) {
    throw new Error(`Expected a plan of run "${runId}", but none came`);
  }
  if (out.isJson) {
    out.message(GetPlanResponseSchema, answer);
    return;
  }
  if (draw !== undefined) {
    out.lines(...drawPlan(plan, draw));
    return;
  }
  if (edit === true) {
    out.lines(...JSON.stringify(editablePlan(plan), null, 2).split("\n").map(clean));
    return;
  }
  const present = version.present ? ", the present one" : "";
  out.lines(
    `Plan version ${version.planVersion} of run ${out.style("bold", clean(runId))}${present}: ${count(plan.tasks.length, "task")}.`,
  );
  out.fields([
    ["made", `${formatTime(version.createdAt, out.clock)}, by ${principalName(version.principal)}`],
    ["proposed by task", version.proposedBy],
    ["reason", version.reason],
    ["hash", hex(version.digest)],
    ["meaning", hex(version.specificationDigest)],
  ]);
  out.table(...planTable(plan));
  out.next([
    followUps.command("plan show", [runId], ["--edit"]),
    followUps.command("plan list", [runId]),
    followUps.command("run show", [runId]),
  ]);
}

function addList(group: Command, context: CliContext): void {
  const command = group
    .command("list")
    .description("list the versions of a run's plan: when, by whom and why each was made")
    .argument("<run>", "id of the run");
  addKernelOptions(command).action((runId: string, options: KernelOptions) =>
    withKernel(context, options, (session) => listVersions(session, runId)),
  );
}

async function listVersions(
  { kernel, namespace, out, followUps }: KernelSession,
  runId: string,
): Promise<void> {
  const { versions } = await kernel.runs.listPlanVersions(
    { namespace, runId },
    { timeoutMs: CALL_TIMEOUT_MS },
  );
  if (out.isJson) {
    for (const version of versions) out.message(PlanVersionSchema, version);
    return;
  }
  out.lines(
    `${count(versions.length, "version")} of the plan of run ${out.style("bold", clean(runId))}.`,
  );
  out.table(...versionTable(versions, out.clock));
  const last = versions.at(-1)?.planVersion ?? 1;
  out.next([
    followUps.command("plan show", [runId]),
    ...(last > 1 ? [followUps.command("plan diff", [runId, `${last - 1}`, `${last}`])] : []),
  ]);
}

interface DiffOptions extends KernelOptions {
  readonly file?: string;
}

function addDiff(group: Command, context: CliContext): void {
  const command = group
    .command("diff")
    .description(
      "say how two versions of a run's plan differ, or what a revision to the plan in a file would do",
    )
    .argument("<run>", "id of the run")
    .argument("[from]", "the version to compare from (default: the one before)", planVersion())
    .argument("[to]", "the version to compare with (default: the present one)", planVersion())
    .option("--file <file>", "compare the present plan with the one in this file");
  addKernelOptions(command).action(
    async (
      runId: string,
      from: number | undefined,
      to: number | undefined,
      options: DiffOptions,
    ) => {
      const { file } = options;
      if (file === undefined) {
        await withKernel(context, options, (session) => diffVersions(session, runId, { from, to }));
        return;
      }
      if (from !== undefined) {
        throw usageError("Expected versions or --file, but there are both.");
      }
      const plan = await readPlanFile(context, file, "--file");
      await withKernel(context, options, (session) => diffFile(session, runId, { plan, file }));
    },
  );
}

async function diffVersions(
  { kernel, namespace, out, followUps }: KernelSession,
  runId: string,
  { from = 0, to = 0 }: { readonly from: number | undefined; readonly to: number | undefined },
): Promise<void> {
  const answer = await kernel.runs.diffPlans(
    { namespace, runId, fromPlanVersion: from, toPlanVersion: to },
    { timeoutMs: CALL_TIMEOUT_MS },
  );
  if (out.isJson) {
    out.message(DiffPlansResponseSchema, answer);
    return;
  }
  const before = answer.from?.planVersion ?? from;
  const after = answer.to?.planVersion ?? to;
  out.lines(
    `Plan version ${after} of run ${out.style("bold", clean(runId))}, compared with version ${before}: ${countChanged(answer.tasks)}.`,
  );
  if (answer.outputBefore !== answer.outputAfter) {
    out.lines(
      `The run's output is that of ${outputWords(answer.outputAfter)} now, and was that of ${outputWords(answer.outputBefore)}.`,
    );
  }
  const [headings, rows] = changedTable(answer.tasks);
  if (rows.length > 0) out.table(headings, rows);
  out.next([followUps.command("plan show", [runId], ["--plan-version", `${after}`])]);
}

function outputWords(task: string): string {
  return task === "" ? "no task" : `task "${clean(task)}"`;
}

async function diffFile(
  session: KernelSession,
  runId: string,
  { plan, file }: { readonly plan: Plan; readonly file: string },
): Promise<void> {
  const { kernel, namespace } = session;
  const { version } = await kernel.runs.getPlan(
    { namespace, runId },
    { timeoutMs: CALL_TIMEOUT_MS },
  );
  const revision = { runId, plan, file, expect: version?.planVersion ?? 0, reason: "compare" };
  printRevised(session, revision, await dryRun(session, revision), true);
}

function addHash(group: Command, context: CliContext): void {
  group
    .command("hash")
    .description(
      "print the hash of the plan in a file, as pawl plan list shows it once a run goes by it",
    )
    .argument("<file>", "the plan: JSON, or a JavaScript module that exports it")
    .option("--json", "print one JSON object a line")
    .action(async (file: string, { json }: { readonly json?: boolean }) => {
      const plan = await readPlanFile(context, file, "the plan");
      const out = new Output(context, json);
      const sha256 = createHash("sha256").update(toBinary(PlanSchema, plan)).digest("hex");
      if (out.isJson) out.json({ sha256, plan: toJson(PlanSchema, plan) });
      else out.lines(sha256);
    });
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}
