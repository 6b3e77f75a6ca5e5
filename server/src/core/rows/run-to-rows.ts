import type {
  InputRowShape,
  ObligationRowShape,
  OperationRowShape,
  PlanVersionRowShape,
  ProposalRowShape,
  ReviewRowShape,
  RunRowShape,
  SignalRowShape,
  StepRowShape,
  TaskRowShape,
  WaitRowShape,
} from "@pawl/proto/log/v1/row_wire.js";
import type { PlanVersion } from "../plan/plan-versions.js";
import { calledTask } from "../plan/tasks-of-run.js";
import type {
  Input,
  Obligation,
  Operation,
  Proposal,
  Review,
  Run,
  Signal,
  Step,
  Task,
  Wait,
} from "../state.js";

/** How far the history of a run is written in chunks. */
export interface ChunkMark {
  /** Chunks written so far. */
  readonly count: number;
  /** Hash of the last one; empty when there is none. */
  readonly hash: Uint8Array;
}

/** The rows of one aggregate. */
export interface RunRows {
  /** Its own row, without what the other fields hold. */
  readonly run: RunRowShape;
  /** Tasks that have left their first state, by rising number. */
  readonly tasks: readonly TaskRowShape[];
  /** All operations, by rising number. */
  readonly operations: readonly OperationRowShape[];
  /** All steps, by rising number. */
  readonly steps: readonly StepRowShape[];
  /** All reviews, by rising number. */
  readonly reviews: readonly ReviewRowShape[];
  /** All waits, by rising number. */
  readonly waits: readonly WaitRowShape[];
  /** All proposals, by rising number. */
  readonly proposals: readonly ProposalRowShape[];
  /** All signals, by rising number. */
  readonly signals: readonly SignalRowShape[];
  /** All input requests, by rising number. */
  readonly inputs: readonly InputRowShape[];
  /** All obligations, by rising number. */
  readonly obligations: readonly ObligationRowShape[];
  /** All versions of its plan, oldest first; none while it was never revised. */
  readonly planVersions: readonly PlanVersionRowShape[];
}

const noChunks: ChunkMark = { count: 0, hash: new Uint8Array(0) };

/**
 * All rows of an aggregate, each for a place of its own. Nothing is shared that a later event could change.
 * @param chunk default: no chunk written.
 */
export function splitRows(run: Run, chunk: ChunkMark = noChunks): RunRows {
  return {
    run: splitRunRow(run, chunk),
    tasks: rowsOfTasks(run),
    operations: run.operations.map(rowOfOperation),
    steps: run.steps.map(rowOfStep),
    reviews: run.reviews.map(rowOfReview),
    waits: run.waits.map(rowOfWait),
    proposals: run.proposals.map(rowOfProposal),
    signals: run.signals.map(rowOfSignal),
    inputs: run.inputs.map(rowOfInput),
    obligations: run.obligations.map(rowOfObligation),
    planVersions: planVersionRows(run),
  };
}

/** The row of a run whose parts lie in rows of their own. */
export function splitRunRow(run: Run, chunk: ChunkMark): RunRowShape {
  return { ...rowOfRun(run, chunk), split: true };
}

/** The row of a run that holds everything of it, for small ones. */
export function inlineRun(run: Run, chunk: ChunkMark): RunRowShape {
  return {
    ...rowOfRun(run, chunk),
    tasks: rowsOfTasks(run),
    operations: run.operations.map(rowOfOperation),
    steps: run.steps.map(rowOfStep),
    reviews: run.reviews.map(rowOfReview),
    waits: run.waits.map(rowOfWait),
    proposals: run.proposals.map(rowOfProposal),
    signals: run.signals.map(rowOfSignal),
    inputs: run.inputs.map(rowOfInput),
    obligations: run.obligations.map(rowOfObligation),
    planVersions: planVersionRows(run),
  };
}

function planVersionRows({ revisions }: Run): PlanVersionRowShape[] {
  return revisions === undefined ? [] : revisions.versions.map(rowOfPlanVersion);
}

/** The row of a version of a plan. */
export function rowOfPlanVersion(version: PlanVersion): PlanVersionRowShape {
  return {
    number: version.planVersion - 1,
    plan: version.plan.bytes,
    tasks: [...version.tasks],
    reason: version.reason,
    principal: version.principal,
    createdAtMs: version.createdAtMs,
    eventNumber: version.eventNumber,
    proposer: plusOne(version.proposer),
    leaseVersionBase: version.leaseVersionBase,
  };
}

/** False for a task that still is as its plan made it: it has no row. */
export function hasRow(task: Task): boolean {
  return task.version > 0;
}

function rowsOfTasks(run: Run): TaskRowShape[] {
  return run.tasks.filter(hasRow).map((task) => rowOfTask(run, task));
}

function rowOfRun(run: Run, chunk: ChunkMark): RunRowShape {
  return {
    namespace: run.namespace,
    runId: run.runId,
    incarnation: run.incarnation,
    codeVersion: run.codeVersion,
    workflow: run.workflow,
    status: run.status,
    version: run.version,
    plan: run.kind === "run" && run.revisions === undefined ? run.plan.bytes : undefined,
    input: run.input,
    fingerprint: run.fingerprint,
    labels: run.labels.map(({ key, value }) => ({ key, value })),
    traceparent: run.traceparent,
    principal: run.principal,
    startedAtMs: run.startedAtMs,
    closedAtMs: run.closedAtMs,
    cancelRequestedAtMs: run.cancelRequestedAtMs,
    cancelReason: run.cancelReason,
    failure: run.failure,
    eventCount: run.eventCount,
    chunkCount: chunk.count,
    chunkHash: chunk.hash,
    fault: run.fault,
    split: false,
    tasks: [],
    operations: [],
    steps: [],
    reviews: [],
    operationCount: run.operations.length,
    stepCount: run.steps.length,
    reviewCount: run.reviews.length,
    waits: [],
    waitCount: run.waits.length,
    signals: [],
    signalCount: run.signals.length,
    inputs: [],
    inputCount: run.inputs.length,
    pause: run.pause === undefined ? undefined : { ...run.pause },
    proposals: [],
    proposalCount: run.proposals.length,
    leaseVersionBase: run.leaseVersionBase,
    begunAtEvent: run.begunAtEvent,
    proposalBase: run.proposalBase,
    calledCount: run.called.length,
    planVersions: [],
    planVersionCount: run.revisions?.versions.length ?? 0,
    taskCount: run.revisions === undefined ? 0 : run.tasks.length,
    startRequests: run.startRequests.map((request) => ({ ...request })),
    obligations: [],
    obligationCount: run.obligations.length,
    parent: run.parent,
    deadline: run.deadline,
    timedOut: run.timedOut,
    deletion: run.deletion === undefined ? undefined : { ...run.deletion },
    legalHold: run.legalHold === undefined ? undefined : { ...run.legalHold },
    continued: run.continued === undefined ? undefined : { ...run.continued },
    generation: laterGeneration(run.generation),
    rewinds: run.rewinds.map((note) => ({ ...note })),
    earlierRewinds: run.earlierRewinds.map((note) => ({ ...note })),
  };
}

/** A generation as rows keep it: 0 is the first. */
function laterGeneration(generation: number): number {
  return generation === 1 ? 0 : generation;
}

/** The row of a task that has left its first state, or that another one called. */
export function rowOfTask(run: Run, task: Task): TaskRowShape {
  return {
    number: task.number,
    status: task.status,
    version: task.version,
    attempt: task.attempt,
    usedAttempts: task.usedAttempts,
    leaseVersion: task.leaseVersion,
    codeVersion: task.codeVersion,
    sessionId: task.sessionId,
    worker: task.worker,
    firstReadyAtMs: task.firstReadyAtMs,
    readyAtMs: task.readyAtMs,
    leasedAtMs: task.leasedAtMs,
    dueAtMs: task.dueAtMs,
    closedAtMs: task.closedAtMs,
    output: task.output,
    failure: task.failure,
    progress: task.progress,
    unacknowledgedOffers: task.unacknowledgedOffers,
    leaseEndReason: task.leaseEndReason,
    reportedLeaseVersion: task.reportedLeaseVersion,
    trouble: rowOfTrouble(task.trouble),
    endedByPerson: task.endedByPerson,
    change: rowOfChange(task.change),
    suspensions: task.suspensions,
    called: calledShape(run, task),
    caller: task.caller ?? 0,
    closedEvent: task.closedEvent,
    generation: laterGeneration(task.generation),
    calledEvent: task.calledEvent,
    dropped: task.dropped,
    rollsBack: plusOne(task.rollsBack),
    stopRequestedAtMs: task.stop?.atMs ?? 0,
    stopReason: task.stop?.reason ?? "",
    abandoned: task.abandoned,
    inputsEvent: task.inputsEvent,
  };
}

function calledShape(run: Run, { number, caller, rollsBack }: Task): TaskRowShape["called"] {
  return caller === undefined && rollsBack === undefined
    ? undefined
    : calledTask(run, number)?.shape;
}

function rowOfChange(change: Task["change"]): TaskRowShape["change"] {
  if (change === undefined) {
    return undefined;
  }
  const { expectedVersion, digest, retry, timeouts } = change;
  return {
    expectedVersion,
    digest,
    retry: retry === undefined ? undefined : { ...retry, nonRetryable: [...retry.nonRetryable] },
    timeouts: timeouts === undefined ? undefined : { ...timeouts },
  };
}

function rowOfTrouble(trouble: Task["trouble"]): TaskRowShape["trouble"] {
  return trouble === undefined
    ? undefined
    : { ...trouble, failures: trouble.failures.map((note) => ({ ...note })) };
}

/** The row of an operation. */
export function rowOfOperation(operation: Operation): OperationRowShape {
  return {
    number: operation.number,
    declaration: operation.declaration,
    status: operation.status,
    version: operation.version,
    intentId: operation.intentId,
    task: operation.task,
    leaseVersion: operation.leaseVersion,
    callByMs: operation.callByMs,
    firstIntendedAtMs: operation.firstIntendedAtMs,
    intendedAtMs: operation.intendedAtMs,
    callOpen: operation.callOpen,
    earlierDoubt: operation.earlierDoubt,
    calls: operation.calls,
    result: operation.result,
    failure: operation.failure,
    settledAtMs: operation.settledAtMs,
    settledIntentId: operation.settledIntentId,
    settledSeenThrough: operation.settledSeenThrough,
    settledEvent: operation.settledEvent,
    reconciled: operation.reconciled,
    lookUps: operation.lookUps,
    lookUpAtMs: operation.lookUpAtMs,
    openReview: plusOne(operation.openReview),
    proposal: plusOne(operation.proposal),
    retryAllowed: operation.retryAllowed,
    intendedEvent: operation.intendedEvent,
    carried: operation.carried,
    adoptedFingerprint: operation.adoptedFingerprint,
  };
}

/** A number as rows keep it: 0 is none. */
function plusOne(number: number | undefined): number {
  return number === undefined ? 0 : number + 1;
}

/** The row of a proposal. */
export function rowOfProposal(proposal: Proposal): ProposalRowShape {
  const { declaration } = proposal;
  return {
    number: proposal.number,
    declaration: {
      ...declaration,
      from: [...declaration.from],
      guards: [...declaration.guards],
      display: displayOf(declaration.display),
    },
    status: proposal.status,
    version: proposal.version,
    decisions: proposal.decisions.map((decision) => ({ ...decision, roles: [...decision.roles] })),
    proposedAtMs: proposal.proposedAtMs,
    approvedAtMs: proposal.approvedAtMs,
    endedAtMs: proposal.endedAtMs,
    endedBy: proposal.endedBy,
    endReason: proposal.endReason,
    revisedBy: plusOne(proposal.revisedBy),
    operation: plusOne(proposal.operation),
    intentId: proposal.intentId,
    madeEvent: proposal.madeEvent,
    dropped: proposal.dropped,
  };
}

function displayOf(
  display: Proposal["declaration"]["display"],
): NonNullable<ProposalRowShape["declaration"]>["display"] {
  return display === undefined ? undefined : { ...display, fields: [...display.fields] };
}

/** The row of a step. */
export function rowOfStep(step: Step): StepRowShape {
  return { ...step };
}

/** The row of a review. */
export function rowOfReview(review: Review): ReviewRowShape {
  return { ...review, waitingTasks: [...review.waitingTasks] };
}

/** The row of a wait. */
export function rowOfWait(wait: Wait): WaitRowShape {
  return { ...wait };
}

/** The row of a signal. */
export function rowOfSignal(signal: Signal): SignalRowShape {
  const { takenBy } = signal;
  const takenEarlier = takenBy === "earlier";
  return { ...signal, takenBy: takenEarlier ? 0 : plusOne(takenBy), takenEarlier };
}

/** The row of an input request. */
export function rowOfInput(input: Input): InputRowShape {
  return { ...input };
}

/** The row of an obligation. */
export function rowOfObligation(obligation: Obligation): ObligationRowShape {
  return { ...obligation };
}
