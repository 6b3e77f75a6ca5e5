import { ObligationStatus } from "@pawl/proto/v1/obligation_pb.js";
import type { EventMeta } from "../event.js";
import { equalBytes } from "../identity/content-digest.js";
import { compileRecordedPlan } from "../plan/compile-recorded.js";
import { presentPlan } from "../plan/plan-versions.js";
import type { CompiledPlan } from "../plan/task-spec.js";
import { freshRequests } from "../start-requests.js";
import type { MutableObligation, MutableRun, RewindNote } from "../state.js";
import type { ApplyHooks } from "./hooks.js";
import { leaveChildren } from "./indices.js";
import { forgetContent } from "./obligations.js";
import { announceReady, emptyRun, newTask } from "./run-started.js";

/**
 * The next incarnation of a run. Its names and versions stay; of what it did before, everything is in the history alone: no step, operation, wait
 * or review of an earlier incarnation is ever taken for one of this one. Proposals and signals stay, under numbers that never come again: a signal that no wait
 * took is carried on, of the others the request alone is remembered, and so are the requests of rewinds. So do obligations: what is owed stays owed.
 *
 * @param parts what is otherwise than in an empty run, besides that.
 */
export function beginAgain(
  run: MutableRun,
  plan: CompiledPlan,
  begun: { readonly incarnation: number; readonly meta: EventMeta },
  parts: Partial<MutableRun>,
): void {
  const leaseVersionBase = run.tasks.reduce(
    (most, { leaseVersion }) => Math.max(most, leaseVersion),
    run.leaseVersionBase,
  );
  const { namespace, runId, workflow, fingerprint, version, proposals, proposalsByKey } = run;
  const { obligations, openObligations, openChildren, parent, legalHold } = run;
  const { incarnation, meta } = begun;
  for (const proposal of proposals) {
    proposal.operation = undefined; // What consumed it is in the history.
  }
  for (const obligation of obligations) {
    forgetMade(obligation);
  }
  Object.assign(run, emptyRun(plan), {
    ...{ obligations, openObligations, openChildren, parent, legalHold },
    ...{ namespace, runId, workflow, fingerprint, leaseVersionBase, proposals, proposalsByKey },
    proposalBase: proposals.length,
    earlierRewinds: keepRewinds(run, meta.atMs),
    incarnation,
    version: version + 1,
    begunAtEvent: meta.number,
    startedAtMs: meta.atMs,
    eventCount: meta.number,
    tasks: plan.tasks.map((spec) => newTask(spec, meta.atMs, leaseVersionBase)),
    openTasks: plan.tasks.length,
    ...parts,
  } satisfies Partial<MutableRun>);
  leaveChildren(run);
}

/** Tells of all that is to be done for a run that has just begun once more. */
export function announceAgain(run: MutableRun, hooks: ApplyHooks): void {
  hooks.deadlineMoved(run);
  announceReady(run, hooks);
}

/** Whoever asked for a rewind may send the same again. Shared while there is none. */
function keepRewinds(
  { rewinds, earlierRewinds }: MutableRun,
  nowMs: number,
): readonly RewindNote[] {
  return rewinds.length === 0 && earlierRewinds.length === 0
    ? earlierRewinds
    : freshRequests([...earlierRewinds, ...rewinds], nowMs);
}

/** Nobody asks for it any more; while it is open its content is still to be sent. */
function forgetMade(obligation: MutableObligation): void {
  obligation.earlier = true;
  if (obligation.status !== ObligationStatus.OPEN) {
    forgetContent(obligation);
  }
}

/** Most runs begin once more with the plan they had. */
export function planOf(run: MutableRun, bytes: Uint8Array | undefined): CompiledPlan {
  const plan = presentPlan(run);
  return bytes === undefined || equalBytes(plan.bytes, bytes) ? plan : compileRecordedPlan(bytes);
}
