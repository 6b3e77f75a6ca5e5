import type { Plan } from "@pawl/proto/v1/plan_pb.js";
import {
  type RevisePlanResponse,
  RevisePlanResponseSchema,
} from "@pawl/proto/v1/plan_version_pb.js";
import type { Command } from "commander";
import { CALL_TIMEOUT_MS } from "../connection.js";
import type { CliContext } from "../context.js";
import { countRevised, revisedTable } from "../format/plan.js";
import { clean } from "../format/text.js";
import { messageFields } from "../json.js";
import { addKernelOptions, type KernelOptions, UINT32_MAX, wholeNumber } from "../options.js";
import { readPlanFile } from "../plan-file.js";
import { type KernelSession, type NextSteps, withKernel } from "../with-kernel.js";

interface ReviseOptions extends KernelOptions {
  readonly expect: number;
  readonly reason: string;
  readonly dryRun?: boolean;
}

/** A revision that is asked for. */
export interface Revision {
  readonly runId: string;
  readonly plan: Plan;
  /** Where the plan was read. */
  readonly file: string;
  /** The version that it was made from. */
  readonly expect: number;
  readonly reason: string;
}

/** `pawl plan revise RUN FILE`. */
export function addPlanRevise(group: Command, context: CliContext): void {
  const command = group
    .command("revise")
    .description(
      "give a run a new version of its plan: what is the same is reused or goes on, what is changed is superseded; the same again is answered as existing",
    )
    .argument("<run>", "id of the run")
    .argument("<file>", "the new plan, whole: JSON, or a JavaScript module that exports it")
    .requiredOption(
      "--expect <number>",
      "the plan version that it was made from; when another one came since, nothing is changed",
      wholeNumber(1, UINT32_MAX),
    )
    .requiredOption("--reason <text>", "why, for the record")
    .option("--dry-run", "change nothing; say what would become of each task");
  addKernelOptions(command).action(async (runId: string, file: string, options: ReviseOptions) => {
    const plan = await readPlanFile(context, file, "the plan");
    const { expect, reason, dryRun: isDry = false } = options;
    const revision: Revision = { runId, plan, file, expect, reason };
    await withKernel(
      context,
      options,
      async (session) => {
        const answer = isDry ? await dryRun(session, revision) : await revise(session, revision);
        printRevised(session, revision, answer, isDry);
      },
      nextSteps(runId),
    );
  });
}

/** What a revision would do. */
export function dryRun(session: KernelSession, revision: Revision): Promise<RevisePlanResponse> {
  return send(session, revision, true);
}

function revise(session: KernelSession, revision: Revision): Promise<RevisePlanResponse> {
  return send(session, revision, false);
}

function send(
  { kernel, namespace }: KernelSession,
  { runId, plan, expect, reason }: Revision,
  isDry: boolean,
): Promise<RevisePlanResponse> {
  return kernel.runs.revisePlan(
    { namespace, runId, expectedPlanVersion: expect, plan, reason, dryRun: isDry },
    { timeoutMs: CALL_TIMEOUT_MS },
  );
}

/** Says what became, or would become, of each task. */
export function printRevised(
  { out, followUps }: KernelSession,
  { runId, file, expect, reason }: Revision,
  answer: RevisePlanResponse,
  isDry: boolean,
): void {
  const { existing, planVersion, tasks } = answer;
  if (out.isJson) {
    out.json({ runId, dryRun: isDry, ...messageFields(RevisePlanResponseSchema, answer) });
    return;
  }
  const run = `run ${out.style("bold", clean(runId))}`;
  if (existing) {
    out.lines(
      `Version ${planVersion} of the plan of ${run} is this plan already; nothing ${isDry ? "would be" : "was"} changed.`,
    );
    return;
  }
  out.lines(
    isDry
      ? `Nothing was changed. Version ${planVersion} of the plan of ${run} would be this one: ${countRevised(tasks)}.`
      : `Version ${planVersion} of the plan of ${run} is recorded: ${countRevised(tasks)}.`,
  );
  out.table(...revisedTable(tasks));
  const restated = ["--expect", `${expect}`, "--reason", reason];
  out.next(
    isDry
      ? [followUps.command("plan revise", [runId, file], restated)]
      : [
          followUps.command("plan diff", [runId, `${planVersion - 1}`, `${planVersion}`]),
          followUps.command("run watch", [runId]),
        ],
  );
}

function nextSteps(runId: string): NextSteps {
  return (reason, followUps) =>
    reason === "PAWL_STALE_VERSION"
      ? [
          followUps.command("plan list", [runId]),
          followUps.command("plan show", [runId], ["--edit"]),
          "Make the change again in what that shows, and name its version with --expect.",
        ]
      : undefined;
}
