import { ObligationStatus } from "@pawl/proto/v1/obligation_pb.js";
import type { EventMeta, EventValue } from "../event.js";
import { equalBytes } from "../identity/content-digest.js";
import { findOpenEffect } from "../open-effects.js";
import { compileRecordedPlan } from "../plan/compile-recorded.js";
import type { CompiledPlan } from "../plan/task-spec.js";
import { freshRequests, rememberRequest } from "../start-requests.js";
import type { MutableObligation, MutableRun } from "../state.js";
import { isRunOpen } from "../transitions.js";
import { CorruptHistory } from "./corrupt.js";
import type { ApplyHooks } from "./hooks.js";
import { leaveChildren } from "./indices.js";
import { keepBytes } from "./keep.js";
import { forgetContent } from "./obligations.js";
import { announceReady, emptyRun, newTask } from "./run-started.js";
import { carrySignals } from "./signals.js";

/**
 * The run begins once more. Its names and versions stay; of what it did before, everything is in the history alone: no step, operation, wait
 * or review of an earlier incarnation is ever taken for one of this one. Proposals and signals stay, under numbers that never come again: a signal that no wait
 * took is carried on, of the others the request alone is remembered. So do obligations: what is owed stays owed.
 */
export function applyRunRestarted(
  run: MutableRun,
  event: EventValue<"runRestarted">,
  meta: EventMeta,
  hooks: ApplyHooks,
): void {
  if (isRunOpen(run.status) || findOpenEffect(run) !== undefined || run.openProposals.size > 0) {
    throw new CorruptHistory(
      `run "${run.runId}" to be over and settled before it begins once more`,
      "it is not",
    );
  }
  const plan = planOf(run, event.plan);
  const leaseVersionBase = run.tasks.reduce(
    (most, { leaseVersion }) => Math.max(most, leaseVersion),
    run.leaseVersionBase,
  );
  const { requestId } = event;
  const { namespace, runId, workflow, fingerprint, version, startRequests } = run;
  const { proposals, proposalsByKey } = run;
  carrySignals(run, { hasEnded: true });
  const { signals, signalsByRequest, keptSignals, keptSignalCount, keptSignalBytes } = run;
  for (const proposal of proposals) {
    proposal.operation = undefined; // What consumed it is in the history.
  }
  const { obligations, openObligations, openChildren, parent } = run;
  for (const obligation of obligations) {
    forgetMade(obligation);
  }
  Object.assign(run, emptyRun(plan), {
    ...{ obligations, openObligations, openChildren, parent },
    ...{ namespace, runId, workflow, fingerprint, leaseVersionBase, proposals, proposalsByKey },
    ...{ signals, signalsByRequest, keptSignals, keptSignalCount, keptSignalBytes },
    proposalBase: proposals.length,
    incarnation: event.incarnation,
    version: version + 1,
    begunAtEvent: meta.number,
    startRequests: rememberRequest(freshRequests(startRequests, meta.atMs), {
      requestId,
      atMs: meta.atMs,
    }),
    input: keepBytes(event.input),
    labels: event.labels,
    traceparent: event.traceparent,
    principal: event.principal,
    startedAtMs: meta.atMs,
    eventCount: meta.number,
    tasks: plan.tasks.map((spec) => newTask(spec, meta.atMs, leaseVersionBase)),
    openTasks: plan.tasks.length,
  } satisfies Partial<MutableRun>);
  leaveChildren(run);
  announceReady(run, hooks);
}

/** Nobody asks for it any more; while it is open its content is still to be sent. */
function forgetMade(obligation: MutableObligation): void {
  obligation.earlier = true;
  if (obligation.status !== ObligationStatus.OPEN) {
    forgetContent(obligation);
  }
}

/** Most runs begin once more with the plan they had. */
function planOf({ plan }: MutableRun, bytes: Uint8Array | undefined): CompiledPlan {
  return bytes === undefined || equalBytes(plan.bytes, bytes) ? plan : compileRecordedPlan(bytes);
}
