import { applyCallEvent } from "./apply/calls.js";
import { CorruptHistory } from "./apply/corrupt.js";
import { applyLegalHoldChanged, applyRunDeleted } from "./apply/deletion.js";
import type { ApplyHooks } from "./apply/hooks.js";
import { applyInputAnswered } from "./apply/inputs.js";
import {
  applyChildEnded,
  applyObligationMade,
  applyObligationSettled,
} from "./apply/obligations.js";
import { applyOperationReused } from "./apply/operation-reused.js";
import { applyOperationEvent } from "./apply/operations.js";
import { applyPlanRevised, applyReportCameLate } from "./apply/plan-revised.js";
import { applyProposalEvent } from "./apply/proposals.js";
import { applyReviewOpened, applyReviewResolved } from "./apply/reviews.js";
import { applyRollbackBegan } from "./apply/rollback-began.js";
import { applyRunContinued } from "./apply/run-continued.js";
import { applyCancelRequested, applyRunClosed, applyRunFaulted } from "./apply/run-ends.js";
import { applyRunPaused, applyRunResumed } from "./apply/run-paused.js";
import { applyRunRestarted } from "./apply/run-restarted.js";
import { applyRunRewound } from "./apply/run-rewound.js";
import { applyRunStarted, emptyRun } from "./apply/run-started.js";
import { applyRunTimedOut } from "./apply/run-timed-out.js";
import { applySignalReceived } from "./apply/signals.js";
import { applyStepRecorded } from "./apply/step-recorded.js";
import { applyTaskChanged } from "./apply/task-changed.js";
import {
  applyAttemptFailed,
  applyLeaseEnded,
  applyTaskCancelled,
  applyTaskCompleted,
  applyTaskLeased,
  applyTaskReady,
  applyTaskTimedOut,
} from "./apply/tasks.js";
import { applyTaskSuspended, applyWaitEnded, applyWaitsOpened } from "./apply/waits.js";
import type { EventBody, EventMeta } from "./event.js";
import type { CompiledPlan } from "./plan/task-spec.js";
import type { MutableRun } from "./state.js";

export { compileRecordedPlan } from "./plan/compile-recorded.js";

/** Finds the compiled form of a plan; callers keep a cache in front of `compilePlan`. */
export type PlanSource = (bytes: Uint8Array) => CompiledPlan;

const ledgerPlan: CompiledPlan = {
  bytes: new Uint8Array(0),
  tasks: [],
  byName: new Map(),
  output: undefined,
  ranks: undefined,
};

/**
 * Makes the state of an aggregate from its first event.
 * @throws CorruptHistory when the event cannot begin one.
 */
export function applyFirst(
  body: EventBody,
  meta: EventMeta,
  plans: PlanSource,
  hooks: ApplyHooks,
): MutableRun {
  if (meta.number !== 1) {
    throw new CorruptHistory("event 1 first", `it is event ${meta.number}`);
  }
  if (body.case === "runStarted") {
    return applyRunStarted(body.value, plans(body.value.plan ?? ledgerPlan.bytes), meta, hooks);
  }
  if (body.case === "operationIntended" && body.value.declaration !== undefined) {
    const { declaration, principal } = body.value;
    return beginLedger(declaration.namespace, principal, { body, meta, hooks });
  }
  if (body.case === "proposalMade" && body.value.declaration !== undefined) {
    const { namespace, requester } = body.value.declaration;
    return beginLedger(namespace, requester, { body, meta, hooks });
  }
  throw new CorruptHistory(
    "runStarted, operationIntended or proposalMade first",
    `it is ${body.case}`,
  );
}

/** The operation of scope NAMESPACE is an aggregate from its first event on: an intent, or the proposal of it. */
function beginLedger(
  namespace: string,
  principal: string,
  first: { readonly body: EventBody; readonly meta: EventMeta; readonly hooks: ApplyHooks },
): MutableRun {
  const ledger = emptyLedger();
  ledger.namespace = namespace;
  ledger.principal = principal;
  ledger.startedAtMs = first.meta.atMs;
  apply(ledger, first.body, first.meta, first.hooks);
  return ledger;
}

/** The state of an operation of scope NAMESPACE before its first event. */
export function emptyLedger(): MutableRun {
  return { ...emptyRun(ledgerPlan), kind: "ledger" };
}

/** Events follow each other without a gap, and none follows the deletion. */
function requireNext(run: MutableRun, meta: EventMeta): void {
  if (run.deletion !== undefined) {
    throw new CorruptHistory(
      `no event after the deletion of run "${run.runId}", which is event ${run.eventCount}`,
      `there is event ${meta.number}`,
    );
  }
  if (meta.number !== run.eventCount + 1) {
    throw new CorruptHistory(
      `event ${run.eventCount + 1} of run "${run.runId}"`,
      `it is event ${meta.number}`,
    );
  }
}

/**
 * Changes the state by one event, in O(log n) of its size, except for the events that end or cancel a whole run.
 * Applying the same events always gives the same state: everything that was decided stands in the event.
 * @throws CorruptHistory when the event does not fit the state.
 */
export function apply(run: MutableRun, body: EventBody, meta: EventMeta, hooks: ApplyHooks): void {
  requireNext(run, meta);
  run.eventCount = meta.number;
  switch (body.case) {
    case "taskLeased":
      applyTaskLeased(run, body.value, meta, hooks);
      break;
    case "taskCompleted":
      applyTaskCompleted(run, body.value, meta, hooks);
      break;
    case "leaseEnded":
      applyLeaseEnded(run, body.value, meta, hooks);
      break;
    case "attemptFailed":
      applyAttemptFailed(run, body.value, meta, hooks);
      break;
    case "taskReady":
      applyTaskReady(run, body.value, meta, hooks);
      break;
    case "taskTimedOut":
      applyTaskTimedOut(run, body.value, meta, hooks);
      break;
    case "taskCancelled":
      applyTaskCancelled(run, body.value, meta, hooks);
      break;
    case "taskSuspended":
      applyTaskSuspended(run, body.value, meta, hooks);
      break;
    case "signalReceived":
      applySignalReceived(run, body.value, meta);
      break;
    case "inputAnswered":
      applyInputAnswered(run, body.value, meta);
      break;
    case "waitEnded":
      applyWaitEnded(run, body.value, meta, hooks);
      break;
    case "waitsOpened":
      applyWaitsOpened(run, body.value, meta, hooks);
      break;
    case "tasksCalled":
    case "callsStopping":
    case "callsAbandoned":
    case "callsCancelled":
      applyCallEvent(run, body, meta, hooks);
      break;
    case "rollbackBegan":
      applyRollbackBegan(run, body.value, meta, hooks);
      break;
    case "stepRecorded":
      applyStepRecorded(run, body.value, meta);
      break;
    case "operationIntended":
    case "operationObserved":
    case "operationDoubted":
    case "operationReconciled":
      applyOperationEvent(run, body, meta, hooks);
      break;
    case "reviewOpened":
      applyReviewOpened(run, body.value, meta);
      break;
    case "reviewResolved":
      applyReviewResolved(run, body.value, meta, hooks);
      break;
    default:
      applyToRun(run, body, meta, hooks);
  }
}

/** Events of tasks, steps, operations and reviews: `apply` knows them itself. */
type PartCase =
  | "taskLeased"
  | "taskCompleted"
  | "leaseEnded"
  | "attemptFailed"
  | "taskReady"
  | "taskTimedOut"
  | "taskCancelled"
  | "taskSuspended"
  | "waitEnded"
  | "waitsOpened"
  | "tasksCalled"
  | "callsStopping"
  | "callsAbandoned"
  | "callsCancelled"
  | "stepRecorded"
  | "operationIntended"
  | "operationObserved"
  | "operationDoubted"
  | "operationReconciled"
  | "reviewOpened"
  | "reviewResolved";

/** Events of the run as a whole. */
function applyToRun(
  run: MutableRun,
  body: Exclude<EventBody, { case: PartCase }>,
  meta: EventMeta,
  hooks: ApplyHooks,
): void {
  switch (body.case) {
    case "cancelRequested":
      applyCancelRequested(run, body.value, meta, hooks);
      break;
    case "runClosed":
      applyRunClosed(run, body.value, meta, hooks);
      break;
    case "runFaulted":
      applyRunFaulted(run, body.value, hooks);
      break;
    case "taskChanged":
      applyTaskChanged(run, body.value, meta, hooks);
      break;
    case "runPaused":
      applyRunPaused(run, body.value, meta, hooks);
      break;
    case "runResumed":
      applyRunResumed(run, meta, hooks);
      break;
    case "proposalMade":
    case "proposalDecided":
    case "proposalEnded":
      applyProposalEvent(run, body, meta, hooks);
      break;
    case "obligationMade":
      applyObligationMade(run, body.value, meta, hooks);
      break;
    case "childEnded":
      applyChildEnded(run, body.value, meta);
      break;
    case "obligationSettled":
      applyObligationSettled(run, body.value, meta);
      break;
    case "runRestarted":
      applyRunRestarted(run, body.value, meta, hooks);
      break;
    case "runContinued":
      applyRunContinued(run, body.value, meta, hooks);
      break;
    case "runTimedOut":
      applyRunTimedOut(run, body.value, meta, hooks);
      break;
    case "planRevised":
      applyPlanRevised(run, body.value, meta, hooks);
      break;
    case "reportCameLate":
      applyReportCameLate(run, body.value);
      break;
    case "runDeleted":
      applyRunDeleted(run, body.value, meta);
      break;
    case "legalHoldChanged":
      applyLegalHoldChanged(run, body.value, meta);
      break;
    case "runRewound":
    case "operationReused":
      applyGoneBack(run, body, meta, hooks);
      break;
    case "runStarted":
    case "runPurged":
    case "retentionChanged":
    case "storeCreated":
    case "checkpointSealed":
    case "epochBegan":
    case "namespaceCreated":
    case "currentVersionChanged":
    case "credentialPolicyChanged":
    case "kernelStarted":
      throw new CorruptHistory("an event that may follow in a run", `it is ${body.case}`);
  }
}

/** The run went on from an earlier point, or code took up again what it had done. */
function applyGoneBack(
  run: MutableRun,
  body: Extract<EventBody, { readonly case: "runRewound" | "operationReused" }>,
  meta: EventMeta,
  hooks: ApplyHooks,
): void {
  if (body.case === "runRewound") {
    applyRunRewound(run, body.value, meta, hooks);
  } else {
    applyOperationReused(run, body.value, meta);
  }
}
