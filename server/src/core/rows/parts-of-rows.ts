import type {
  InputRowShape,
  ObligationRowShape,
  OperationRowShape,
  PlanVersionRowShape,
  ProposalRowShape,
  ReviewRowShape,
  SignalRowShape,
  StepRowShape,
  TaskRowShape,
  WaitRowShape,
} from "@pawl/proto/log/v1/row_wire.js";

import { CorruptHistory } from "../apply/corrupt.js";
import { noneUnsettled, noSteps, noWaits } from "../apply/indices.js";

import type { PlanSource } from "../apply.js";
import { specWith } from "../plan/change-spec.js";
import type { PlanVersion } from "../plan/plan-versions.js";

import type { TaskSpec } from "../plan/task-spec.js";

import type {
  MutableInput,
  MutableObligation,
  MutableOperation,
  MutableProposal,
  MutableReview,
  MutableSignal,
  MutableStep,
  MutableTask,
  MutableWait,
} from "../state.js";

function changeOfRow(
  { change }: TaskRowShape,
  planned: TaskSpec | undefined,
): MutableTask["change"] {
  return change === undefined || planned === undefined
    ? undefined
    : {
        expectedVersion: change.expectedVersion,
        digest: change.digest,
        retry: change.retry,
        timeouts: change.timeouts,
        spec: specWith(planned, change),
      };
}

/** A task; what is derived is not counted yet. */
export function taskOfRow(
  row: TaskRowShape,
  { openNeeds, spareNeeds }: Pick<MutableTask, "openNeeds" | "spareNeeds">,
  spec: TaskSpec | undefined,
): MutableTask {
  return {
    number: row.number,
    status: row.status,
    version: row.version,
    attempt: row.attempt,
    usedAttempts: row.usedAttempts,
    leaseVersion: row.leaseVersion,
    codeVersion: row.codeVersion,
    sessionId: row.sessionId,
    worker: row.worker,
    firstReadyAtMs: row.firstReadyAtMs,
    readyAtMs: row.readyAtMs,
    leasedAtMs: row.leasedAtMs,
    dueAtMs: row.dueAtMs,
    closedAtMs: row.closedAtMs,
    output: row.output,
    failure: row.failure,
    progress: row.progress,
    unacknowledgedOffers: row.unacknowledgedOffers,
    leaseEndReason: row.leaseEndReason,
    reportedLeaseVersion: row.reportedLeaseVersion,
    trouble: row.trouble === undefined ? undefined : { ...row.trouble },
    endedByPerson: row.endedByPerson,
    change: changeOfRow(row, spec),
    suspensions: row.suspensions,
    openWaits: noWaits,
    endedWaits: noWaits,
    openNeeds,
    spareNeeds,
    inputsEvent: row.inputsEvent,
    caller: undefined,
    closedEvent: row.closedEvent,
    generation: Math.max(1, row.generation),
    calledEvent: row.calledEvent,
    dropped: row.dropped,
    calls: undefined,
    unsettled: noneUnsettled,
    steps: noSteps,
    openReview: undefined,
    stop:
      row.stopRequestedAtMs === 0
        ? undefined
        : { atMs: row.stopRequestedAtMs, reason: row.stopReason },
    abandoned: row.abandoned,
    rollsBack: undefined,
    rollback: undefined,
  };
}

/** An operation. */
export function operationOfRow(row: OperationRowShape): MutableOperation {
  const { declaration } = row;
  if (declaration === undefined) {
    throw new CorruptHistory(`a declaration of operation ${row.number}`, "its row has none");
  }
  return {
    number: row.number,
    declaration,
    status: row.status,
    version: row.version,
    intentId: row.intentId,
    task: row.task,
    leaseVersion: row.leaseVersion,
    callByMs: row.callByMs,
    firstIntendedAtMs: row.firstIntendedAtMs,
    intendedAtMs: row.intendedAtMs,
    callOpen: row.callOpen,
    earlierDoubt: row.earlierDoubt,
    calls: row.calls,
    result: row.result,
    failure: row.failure,
    settledAtMs: row.settledAtMs,
    settledIntentId: row.settledIntentId,
    settledSeenThrough: row.settledSeenThrough,
    settledEvent: row.settledEvent,
    reconciled: row.reconciled,
    lookUps: row.lookUps,
    lookUpAtMs: row.lookUpAtMs,
    openReview: numberOf(row.openReview),
    proposal: numberOf(row.proposal),
    retryAllowed: row.retryAllowed,
    intendedEvent: row.intendedEvent,
    carried: row.carried,
    adoptedFingerprint: row.adoptedFingerprint,
  };
}

/** A number that rows keep plus 1, so that 0 is none. */
export function numberOf(plusOne: number): number | undefined {
  return plusOne === 0 ? undefined : plusOne - 1;
}

/** A proposal. */
export function proposalOfRow(row: ProposalRowShape): MutableProposal {
  const { declaration } = row;
  if (declaration === undefined) {
    throw new CorruptHistory(`a declaration of proposal ${row.number}`, "its row has none");
  }
  return {
    number: row.number,
    declaration,
    status: row.status,
    version: row.version,
    decisions: row.decisions,
    proposedAtMs: row.proposedAtMs,
    approvedAtMs: row.approvedAtMs,
    endedAtMs: row.endedAtMs,
    endedBy: row.endedBy,
    endReason: row.endReason,
    revisedBy: numberOf(row.revisedBy),
    operation: numberOf(row.operation),
    intentId: row.intentId,
    madeEvent: row.madeEvent,
    dropped: row.dropped,
  };
}

/** A step. */
export function stepOfRow(row: StepRowShape): MutableStep {
  return {
    number: row.number,
    task: row.task,
    name: row.name,
    key: row.key,
    value: row.value,
    failure: row.failure,
    seenThrough: row.seenThrough,
    observedAtMs: row.observedAtMs,
    eventNumber: row.eventNumber,
    rollback: row.rollback,
    publishes: row.publishes,
    answers: row.answers,
    attempt: row.attempt,
    maxAgeMs: row.maxAgeMs,
    dropped: row.dropped,
  };
}

/** A review. */
export function reviewOfRow(row: ReviewRowShape): MutableReview {
  return {
    number: row.number,
    subject: row.subject,
    operation: row.operation,
    task: row.task,
    known: row.known,
    openedAtMs: row.openedAtMs,
    resolvedAtMs: row.resolvedAtMs,
    choice: row.choice,
    reason: row.reason,
    principal: row.principal,
    result: row.result,
    version: row.version,
    waitingTasks: row.waitingTasks,
    returned: row.returned,
    askedFingerprint: row.askedFingerprint,
  };
}

/** A wait. */
export function waitOfRow(row: WaitRowShape): MutableWait {
  const { declaration } = row;
  if (declaration === undefined) {
    throw new CorruptHistory(`a declaration of wait ${row.number}`, "its row has none");
  }
  return {
    number: row.number,
    task: row.task,
    declaration,
    openedAtMs: row.openedAtMs,
    ended: row.ended,
    endedEvent: row.endedEvent,
    closedAtMs: row.closedAtMs,
    openedEvent: row.openedEvent,
    dropped: row.dropped,
  };
}

/** A signal. */
export function signalOfRow(row: SignalRowShape): MutableSignal {
  return {
    number: row.number,
    name: row.name,
    payload: row.payload,
    requestId: row.requestId,
    from: row.from,
    principal: row.principal,
    receivedAtMs: row.receivedAtMs,
    contentDigest: row.contentDigest,
    takenBy: row.takenEarlier ? "earlier" : numberOf(row.takenBy),
    update: row.update,
    answer: row.answer,
  };
}

/** An input request. */
export function inputOfRow(row: InputRowShape): MutableInput {
  return {
    number: row.number,
    wait: row.wait,
    status: row.status,
    version: row.version,
    answer: row.answer,
    declined: row.declined,
    principal: row.principal,
    closedAtMs: row.closedAtMs,
  };
}

/** An obligation. */
export function obligationOfRow(row: ObligationRowShape): MutableObligation {
  const { declaration } = row;
  if (declaration === undefined) {
    throw new CorruptHistory(`a declaration of obligation ${row.number}`, "its row has none");
  }
  return {
    number: row.number,
    declaration,
    status: row.status,
    madeAtMs: row.madeAtMs,
    madeEvent: row.madeEvent,
    settledAtMs: row.settledAtMs,
    settledEvent: row.settledEvent,
    earlier: row.earlier,
    ended: row.ended,
    endedEvent: row.endedEvent,
    endedAtMs: row.endedAtMs,
    carried: row.carried,
  };
}

/** A version of a plan. */
export function planVersionOfRow(row: PlanVersionRowShape, plans: PlanSource): PlanVersion {
  if (row.plan === undefined) {
    throw new CorruptHistory(`a plan in version ${row.number + 1}`, "its row has none");
  }
  return {
    planVersion: row.number + 1,
    plan: plans(row.plan),
    tasks: row.tasks,
    reason: row.reason,
    principal: row.principal,
    createdAtMs: row.createdAtMs,
    eventNumber: row.eventNumber,
    proposer: numberOf(row.proposer),
    leaseVersionBase: row.leaseVersionBase,
  };
}
