import { OperationScope } from "@pawl/proto/v1/operation_pb.js";
import { ProposalStatus } from "@pawl/proto/v1/proposal_status_pb.js";
import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { VersionMode } from "@pawl/proto/v1/version_pb.js";
import type { RevisePlan } from "../command.js";
import type { DecideContext } from "../context.js";
import { accept, acceptExisting, type Decision, reject } from "../decision.js";
import type { EventBody } from "../event.js";
import { equalBytes } from "../identity/content-digest.js";
import { namesCurrent, planAt } from "../plan/code-version.js";
import { compileRecordedPlan } from "../plan/compile-recorded.js";
import { planVersionOf, presentPlan, presentPlanVersion } from "../plan/plan-versions.js";
import { type RevisedPlan, reviseTo, revisionOf } from "../plan/revised-plan.js";
import type { CompiledPlan } from "../plan/task-spec.js";
import { staleVersion } from "../rejection.js";
import type { Run } from "../state.js";
import { isRunOpen } from "../transitions.js";
import { closeTaskReview } from "./close-reviews.js";
import { doubtOpenCalls } from "./doubts.js";
import { endProposal } from "./end-proposal.js";
import { findLeased, refuseLease } from "./find.js";
import { answerRecorded, recordRevision } from "./record-revision.js";
import { overForRevision, refuseRevision } from "./revision-refusals.js";

/**
 * Revises the plan of a run. Refusals, in order: for code no task; another plan under its record; run over; for code lease lost; stale plan version (unless this revision was
 * recorded before), asked to stop, a name that a called task has, more versions or tasks than a run may have, for code its own task changed, or too many steps.
 * A plan that changes nothing is answered `existing`.
 */
export function decideRevisePlan(run: Run, command: RevisePlan, ctx: DecideContext): Decision {
  const { proposer, isDryRun } = command;
  const found =
    proposer === undefined ? undefined : findLeased(run, proposer.task, proposer.leaseVersion);
  if (proposer !== undefined) {
    const recorded = answerRecorded(run, found, { proposer, plan: command.plan }, ctx);
    if (recorded !== undefined) {
      return recorded;
    }
  }
  if (!isRunOpen(run.status)) {
    return reject(overForRevision(run));
  }
  const lost =
    proposer === undefined
      ? undefined
      : refuseLease(run, { kind: "RevisePlan", lease: leaseOf(proposer) }, found);
  if (lost !== undefined) {
    return reject(lost);
  }
  const plan = pinned(run, command.plan);
  const expected = command.expectedPlanVersion ?? presentPlanVersion(run);
  if (expected !== presentPlanVersion(run)) {
    return answerStale(run, plan, expected);
  }
  const revised = reviseTo(run, plan, alikeWith(run, command));
  const refusal = refuseRevision(run, plan, revised, found);
  if (refusal !== undefined) {
    return reject(refusal);
  }
  const reply = { existing: revised.isEqual, revision: revised };
  if (isDryRun) {
    return accept([], reply);
  }
  const events = revised.isEqual ? [] : revise(run, { command, plan, revised, found }, ctx);
  return accept(
    proposer === undefined || found === undefined
      ? events
      : [...events, recordRevision(found.task, { proposer, plan: command.plan, revised }, ctx)],
    reply,
  );
}

function leaseOf({ task, leaseVersion }: NonNullable<RevisePlan["proposer"]>): {
  readonly task: typeof task;
  readonly leaseVersion: number;
} {
  return { task, leaseVersion };
}

/** Names of tasks whose inputs are the same documents, as far as they were compared with the plan that counts. */
function alikeWith(run: Run, { alike }: RevisePlan): ReadonlySet<string> {
  return alike !== undefined && equalBytes(alike.with, presentPlan(run).bytes)
    ? alike.tasks
    : noNames;
}

const noNames: ReadonlySet<string> = new Set();

/** In a run that keeps to a version of its code, a plan that names the current one means that version. */
function pinned(run: Run, plan: CompiledPlan): CompiledPlan {
  const { codeVersion, workflow } = run;
  return codeVersion?.mode === VersionMode.PINNED && namesCurrent(plan, workflow)
    ? compileRecordedPlan(planAt(plan.bytes, workflow, codeVersion.version))
    : plan;
}

/** Another revision came first. When that is this one, it was recorded before. */
function answerStale(run: Run, plan: CompiledPlan, expected: number): Decision {
  const next = run.revisions?.versions[expected];
  return next !== undefined && equalBytes(next.plan.bytes, plan.bytes)
    ? acceptExisting({ existing: true, revision: revisionOf(run, next) })
    : reject(staleVersion("plan", expected, presentPlanVersion(run)));
}

interface Revision {
  readonly command: RevisePlan;
  readonly plan: CompiledPlan;
  readonly revised: RevisedPlan;
  readonly found: ReturnType<typeof findLeased>;
}

/** What is under way of superseded tasks becomes unknown, their proposals end, and what a person was asked about them is moot. */
function revise(
  run: Run,
  { command, plan, revised, found }: Revision,
  ctx: DecideContext,
): EventBody[] {
  const superseded = revised.tasks
    .filter(({ revision }) => revision === "superseded")
    .map(({ number }) => number);
  const doubts = superseded.flatMap((number) => {
    const { status, leaseVersion = 0 } = run.tasks[number] ?? {};
    return status === TaskStatus.LEASED ? doubtOpenCalls(run, number, leaseVersion) : [];
  });
  const planRevised: EventBody = {
    case: "planRevised",
    value: {
      planVersion: revised.planVersion,
      plan: plan.bytes,
      tasks: [...revised.numbers],
      reason: command.reason,
      principal: ctx.principal,
      proposer: found === undefined ? 0 : found.task.number + 1,
    },
  };
  const moot = superseded.flatMap((number) => closeTaskReview(run, number, ctx, supersededWords));
  return [...doubts, planRevised, ...endProposals(run, superseded, revised), ...moot];
}

const supersededWords = "A revision of the plan superseded the task.";

/** An approval is of exactly one action of one specification: it is never used for another. */
function endProposals(
  run: Run,
  superseded: readonly number[],
  { planVersion, numbers }: RevisedPlan,
): EventBody[] {
  const gone = new Set(superseded);
  const events: EventBody[] = [];
  for (const number of run.openProposals) {
    const proposal = run.proposals[number];
    if (proposal === undefined || !gone.has(proposal.declaration.task)) {
      continue;
    }
    const { scope, planVersion: ofKey } = proposal.declaration;
    const isWanted =
      scope === OperationScope.RUN && numbers.some((task) => planVersionOf(run, task) === ofKey);
    if (!isWanted) {
      const isApproved = proposal.status === ProposalStatus.APPROVED;
      const status = isApproved ? ProposalStatus.REVOKED : ProposalStatus.SUPERSEDED;
      events.push(
        endProposal(proposal, status, `Plan version ${planVersion} superseded its task.`, ""),
      );
    }
  }
  return events;
}
