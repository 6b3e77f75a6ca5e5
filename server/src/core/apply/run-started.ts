import { LeaseEndReason } from "@pawl/proto/log/v1/event_pb.js";
import { RunStatus, TaskStatus } from "@pawl/proto/v1/run_pb.js";
import type { EventMeta, EventValue } from "../event.js";
import { neededCount } from "../plan/compile-join.js";
import type { CompiledPlan, TaskSpec } from "../plan/task-spec.js";
import { noRequests } from "../start-requests.js";
import type { MutableRun, MutableTask, RewindNote } from "../state.js";
import type { ApplyHooks } from "./hooks.js";
import { emptyIndices, noneUnsettled, noSteps, noWaits } from "./indices.js";
import { keepBytes } from "./keep.js";

/** Makes the state of a run from its first event. */
export function applyRunStarted(
  event: EventValue<"runStarted">,
  plan: CompiledPlan,
  meta: EventMeta,
  hooks: ApplyHooks,
): MutableRun {
  // Filled in place: a second object of this many fields would be garbage at once.
  const run = emptyRun(plan);
  run.namespace = event.namespace;
  run.runId = event.runId;
  run.incarnation = event.incarnation;
  if (event.requestId !== "") {
    run.startRequests = [{ requestId: event.requestId, atMs: meta.atMs }];
  }
  run.workflow = event.workflow;
  run.input = keepBytes(event.input);
  run.fingerprint = keepBytes(event.fingerprint);
  run.labels = event.labels;
  run.traceparent = event.traceparent;
  run.principal = event.principal;
  run.parent = event.parent;
  run.codeVersion = event.codeVersion;
  run.startedAtMs = meta.atMs;
  run.eventCount = meta.number;
  run.leaseVersionBase = event.leaseVersionBase ?? 0;
  run.tasks = plan.tasks.map((spec) => newTask(spec, meta.atMs, run.leaseVersionBase));
  run.openTasks = plan.tasks.length;
  if (event.deadline !== undefined) {
    run.deadline = event.deadline;
    hooks.deadlineMoved(run);
  }
  announceReady(run, hooks);
  return run;
}

/** Tells of the tasks that are READY as a run begins. */
export function announceReady(run: MutableRun, hooks: ApplyHooks): void {
  for (const task of run.tasks) {
    if (task.status === TaskStatus.READY) {
      hooks.taskMoved(run, task.number);
      if (run.status === RunStatus.RUNNING) {
        hooks.taskReady(run, task.number);
      }
    }
  }
}

/** A state without tasks, operations, steps, reviews or waits. Field by field: a spread in the middle would give each run a shape of its own, with its fields out of line. */
export const emptyRun = (plan: CompiledPlan): MutableRun => ({
  kind: "run",
  namespace: "",
  runId: "",
  incarnation: 1,
  leaseVersionBase: 0,
  begunAtEvent: 1,
  proposalBase: 0,
  startRequests: noRequests,
  workflow: "",
  status: RunStatus.RUNNING,
  version: 1,
  plan,
  revisions: undefined,
  input: undefined,
  fingerprint: noBytes,
  labels: [],
  traceparent: "",
  principal: "",
  startedAtMs: 0,
  closedAtMs: 0,
  cancelRequestedAtMs: 0,
  cancelReason: "",
  pause: undefined,
  deletion: undefined,
  legalHold: undefined,
  failure: undefined,
  eventCount: 0,
  fault: "",
  tasks: [],
  called: none.called,
  calledByName: none.calledByName,
  endedCallers: none.endedCallers,
  rollbacksDue: none.rollbacksDue,
  openTasks: 0,
  failedTasks: 0,
  operations: [],
  operationsByKey: none.operationsByKey,
  stepsByIdentity: none.stepsByIdentity,
  published: none.published,
  publishedBytes: none.publishedBytes,
  unsettled: none.unsettled,
  orphaned: none.orphaned,
  waitsByIdentity: none.waitsByIdentity,
  openWaitsBySubject: none.openWaitsBySubject,
  proposals: none.proposals,
  proposalsByKey: none.proposalsByKey,
  openProposals: none.openProposals,
  signalsByRequest: none.signalsByRequest,
  keptSignals: none.keptSignals,
  keptSignalCount: none.keptSignalCount,
  keptSignalBytes: none.keptSignalBytes,
  steps: [],
  reviews: [],
  waits: [],
  signals: [],
  inputs: [],
  obligations: none.obligations,
  obligationsByIdentity: none.obligationsByIdentity,
  openObligations: none.openObligations,
  parent: undefined,
  codeVersion: undefined,
  toldParent: false,
  openChildren: none.openChildren,
  strayChildren: none.strayChildren,
  deadline: undefined,
  timedOut: false,
  continued: undefined,
  generation: 1,
  rewinds: noRewinds,
  earlierRewinds: noRewinds,
});

const noBytes = new Uint8Array(0);
const noRewinds: readonly RewindNote[] = [];
const none = emptyIndices();

/**
 * A task in its first state: READY when it needs nothing, BLOCKED otherwise.
 * @param leaseVersion what its first lease is above: `leaseVersionBase` of its run.
 */
export function newTask(spec: TaskSpec, startedAtMs: number, leaseVersion: number): MutableTask {
  const isReady = spec.needs.length === 0;
  return {
    number: spec.number,
    status: isReady ? TaskStatus.READY : TaskStatus.BLOCKED,
    version: 0,
    attempt: 0,
    usedAttempts: 0,
    leaseVersion,
    codeVersion: 0,
    sessionId: "",
    worker: "",
    firstReadyAtMs: isReady ? startedAtMs : 0,
    readyAtMs: isReady ? startedAtMs : 0,
    leasedAtMs: 0,
    dueAtMs: 0,
    closedAtMs: 0,
    output: undefined,
    failure: undefined,
    progress: undefined,
    unacknowledgedOffers: 0,
    leaseEndReason: LeaseEndReason.UNSPECIFIED,
    reportedLeaseVersion: 0,
    trouble: undefined,
    endedByPerson: false,
    change: undefined,
    suspensions: 0,
    openWaits: noWaits,
    endedWaits: noWaits,
    openNeeds: neededCount(spec),
    spareNeeds: spec.needs.length - neededCount(spec),
    inputsEvent: 0,
    caller: undefined,
    closedEvent: 0,
    generation: 1,
    calledEvent: 0,
    dropped: 0,
    calls: undefined,
    unsettled: noneUnsettled,
    steps: noSteps,
    openReview: undefined,
    stop: undefined,
    abandoned: false,
    rollsBack: undefined,
    rollback: undefined,
  };
}
