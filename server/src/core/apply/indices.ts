import { ObligationStatus } from "@pawl/proto/v1/obligation_pb.js";
import { OperationStatus } from "@pawl/proto/v1/operation_pb.js";
import { ReviewSubject } from "@pawl/proto/v1/review_pb.js";
import { isRollingBack } from "../is-rolling-back.js";
import { publishedBytesOf } from "../published.js";
import {
  type CalledTask,
  isKernels,
  keptKey,
  type MutableObligation,
  type MutableOperation,
  type MutableProposal,
  type MutablePublication,
  type MutableReview,
  type MutableRun,
  type MutableSignal,
  type MutableStep,
  type MutableTask,
  type MutableWait,
  obligationIdentity,
  signalBytes,
  signalRequest,
  stepIdentity,
  waitIdentity,
} from "../state.js";
import { isProposalOpen, isTaskClosed } from "../transitions.js";
import { subjectKey } from "../wait-subject.js";

/**
 * The indices of a run begin as these, shared by all: most runs have neither operations nor steps, and three empty collections each would be a
 * large part of their memory. Whoever adds replaces them first.
 */
const noOperations: Map<string, number> = new Map();
const noStepsByIdentity: Map<string, number> = new Map();
const noneOrphaned: Set<number> = new Set();
const noWaitsByIdentity: Map<string, number> = new Map();
const noOpenWaits: Map<string, number[]> = new Map();
const noSignals: Map<string, number> = new Map();
const noPublished: Map<string, MutablePublication> = new Map();
const noneKept: Map<string, number[]> = new Map();

const noneCalled: CalledTask[] = [];
const noCalled: Map<string, number> = new Map();
const noCallers: Set<number> = new Set();
const noneDue: Set<number> = new Set();

/** The unsettled operations of a run or task without such. Shared: never added to. */
export const noneUnsettled: Set<number> = new Set();

/** The steps of a task that recorded none. Shared: never added to. */
export const noSteps: number[] = [];

/** The waits of a task that waits for nothing, and of one that never did. Shared: never added to. */
export const noWaits: number[] = [];

const noneProposed: MutableProposal[] = [];
const noProposals: Map<string, number> = new Map();
const noneOpen: Set<number> = new Set();

const noObligations: MutableObligation[] = [];
const noneByIdentity: Map<string, number> = new Map();
const noneOwed: Set<number> = new Set();
const noneOpenChildren: Set<number> = new Set();
const noneStray: Set<number> = new Set();

/** The indices of a run without operations, steps, waits and proposals. */
export function emptyIndices(): Pick<
  MutableRun,
  | "operationsByKey"
  | "stepsByIdentity"
  | "published"
  | "publishedBytes"
  | "unsettled"
  | "orphaned"
  | "waitsByIdentity"
  | "openWaitsBySubject"
  | "proposals"
  | "proposalsByKey"
  | "openProposals"
  | "signalsByRequest"
  | "keptSignals"
  | "keptSignalCount"
  | "keptSignalBytes"
  | "called"
  | "calledByName"
  | "endedCallers"
  | "rollbacksDue"
  | "obligations"
  | "obligationsByIdentity"
  | "openObligations"
  | "openChildren"
  | "strayChildren"
> {
  return {
    operationsByKey: noOperations,
    stepsByIdentity: noStepsByIdentity,
    published: noPublished,
    publishedBytes: 0,
    unsettled: noneUnsettled,
    orphaned: noneOrphaned,
    waitsByIdentity: noWaitsByIdentity,
    openWaitsBySubject: noOpenWaits,
    proposals: noneProposed,
    proposalsByKey: noProposals,
    openProposals: noneOpen,
    signalsByRequest: noSignals,
    keptSignals: noneKept,
    keptSignalCount: 0,
    keptSignalBytes: 0,
    called: noneCalled,
    calledByName: noCalled,
    endedCallers: noCallers,
    rollbacksDue: noneDue,
    obligations: noObligations,
    obligationsByIdentity: noneByIdentity,
    openObligations: noneOwed,
    openChildren: noneOpenChildren,
    strayChildren: noneStray,
  };
}

/** Adds what a called task is; its name is found from now on. */
export function addCalled(run: MutableRun, called: CalledTask): void {
  keepCalled(run, called);
  run.calledByName.set(called.spec.name, called.spec.number);
}

/** Adds what a called task is, or was. */
export function keepCalled(run: MutableRun, called: CalledTask): void {
  if (run.called === noneCalled) {
    run.called = [];
    run.calledByName = new Map();
  }
  run.called.push(called);
}

/** Counts a task among those that have ended before what they called, or takes it out. */
export function judgeCaller(run: MutableRun, caller: MutableTask): void {
  const { calls } = caller;
  if (calls === undefined || calls.open.size === 0 || !isTaskClosed(caller.status)) {
    run.endedCallers.delete(caller.number);
    return;
  }
  if (run.endedCallers === noCallers) {
    run.endedCallers = new Set();
  }
  run.endedCallers.add(caller.number);
}

/** What a task did is to be rolled back. */
export function addRollbackDue(run: MutableRun, number: number): void {
  if (run.rollbacksDue === noneDue) {
    run.rollbacksDue = new Set();
  }
  run.rollbacksDue.add(number);
}

/** Finds an operation by its key from now on. */
export function indexOperation(run: MutableRun, key: string, number: number): void {
  if (run.operationsByKey === noOperations) {
    run.operationsByKey = new Map();
  }
  run.operationsByKey.set(key, number);
}

/** Counts an operation among the unsettled of its run and of its task. */
export function addUnsettled(run: MutableRun, operation: MutableOperation): void {
  if (run.unsettled === noneUnsettled) {
    run.unsettled = new Set();
  }
  run.unsettled.add(operation.number);
  addUnsettledOfTask(run, operation);
}

/** An operation is settled. */
export function forgetUnsettled(run: MutableRun, { number, task }: MutableOperation): void {
  run.unsettled.delete(number);
  run.tasks[task]?.unsettled.delete(number);
}

/** Another task called an unsettled operation last. */
export function moveUnsettled(run: MutableRun, operation: MutableOperation, task: number): void {
  if (operation.task !== task) {
    run.tasks[operation.task]?.unsettled.delete(operation.number);
    operation.task = task;
    addUnsettledOfTask(run, operation);
  }
}

function addUnsettledOfTask(run: MutableRun, { number, task }: MutableOperation): void {
  const holder = run.tasks[task];
  if (holder?.unsettled === noneUnsettled) {
    holder.unsettled = new Set();
  }
  holder?.unsettled.add(number);
}

/** Adds a proposal; it is the newest of its operation's key from now on. */
export function addProposal(run: MutableRun, proposal: MutableProposal): void {
  if (run.proposals === noneProposed) {
    run.proposals = [];
  }
  run.proposals.push(proposal);
  if (proposal.dropped === 0) {
    indexProposal(run, proposal.declaration.key, proposal.number);
  }
  if (isProposalOpen(proposal.status)) {
    addOpenProposal(run, proposal.number);
  }
}

/** Finds a proposal as the newest of its operation's key from now on. */
export function indexProposal(run: MutableRun, key: string, number: number): void {
  if (run.proposalsByKey === noProposals) {
    run.proposalsByKey = new Map();
  }
  run.proposalsByKey.set(key, number);
}

function addOpenProposal(run: MutableRun, number: number): void {
  if (run.openProposals === noneOpen) {
    run.openProposals = new Set();
  }
  run.openProposals.add(number);
}

/** Counts an operation in doubt among the orphaned when its task has ended; else, or when it is in doubt no more, takes it out. */
export function judgeOrphan(run: MutableRun, operation: MutableOperation): void {
  const task = run.tasks[operation.task];
  const isOrphan =
    operation.status === OperationStatus.IN_DOUBT &&
    task !== undefined &&
    isTaskClosed(task.status) &&
    !isRollingBack(run, task);
  if (!isOrphan) {
    run.orphaned.delete(operation.number);
    return;
  }
  if (run.orphaned === noneOrphaned) {
    run.orphaned = new Set();
  }
  run.orphaned.add(operation.number);
}

/** Judges all operations of a task that has just ended. */
export function judgeOrphans(run: MutableRun, task: MutableTask): void {
  for (const number of task.unsettled) {
    const operation = run.operations[number];
    if (operation !== undefined) {
      judgeOrphan(run, operation);
    }
  }
}

/** A review is open, or it is so no more: the task that it is about names it while it is. */
export function noteReview(
  run: MutableRun,
  { number, subject, task, resolvedAtMs }: MutableReview,
): void {
  const about = subject === ReviewSubject.TASK ? run.tasks[task] : undefined;
  if (about !== undefined && resolvedAtMs === 0) {
    about.openReview = number;
  } else if (about?.openReview === number) {
    about.openReview = undefined;
  }
}

/** Finds a step by task, name and key from now on, and with those of its task; what it publishes takes the place of what was published before. */
export function indexStep(
  run: MutableRun,
  step: MutableStep,
  identity: string = stepIdentity(step.task, step.name, step.key),
): void {
  if (run.stepsByIdentity === noStepsByIdentity) {
    run.stepsByIdentity = new Map();
  }
  run.stepsByIdentity.set(identity, step.number);
  const holder = run.tasks[step.task];
  if (holder?.steps === noSteps) {
    holder.steps = [];
  }
  holder?.steps.push(step.number);
  if (step.publishes !== undefined) {
    publish(run, step, step.publishes);
  }
}

/** What a step published takes the place of what was published under its name before. */
function publish(run: MutableRun, step: MutableStep, name: string): void {
  if (run.published === noPublished) {
    run.published = new Map();
  }
  const before = run.published.get(name);
  run.publishedBytes += (step.value?.length ?? 0) - publishedBytesOf(run, name);
  run.published.set(name, { step: step.number, version: (before?.version ?? 0) + 1 });
}

/** Finds a wait by task, name and key from now on; an open one also by its task and by what it waits for. */
export function indexWait(run: MutableRun, wait: MutableWait): void {
  const { number, task, declaration } = wait;
  if (run.waitsByIdentity === noWaitsByIdentity) {
    run.waitsByIdentity = new Map();
  }
  run.waitsByIdentity.set(waitIdentity(task, declaration.name, declaration.key), number);
  if (wait.closedAtMs !== 0) {
    return;
  }
  const holder = run.tasks[task];
  if (holder !== undefined) {
    if (holder.openWaits === noWaits) {
      holder.openWaits = [];
    }
    holder.openWaits.push(number);
  }
  const key = subjectKey(declaration);
  if (key === undefined) {
    return;
  }
  if (run.openWaitsBySubject === noOpenWaits) {
    run.openWaitsBySubject = new Map();
  }
  addTo(run.openWaitsBySubject, key, number);
}

/** A wait has ended after all of its task that have ended before. */
export function addEndedWait(run: MutableRun, { task, number }: MutableWait): void {
  const holder = run.tasks[task];
  if (holder?.endedWaits === noWaits) {
    holder.endedWaits = [];
  }
  holder?.endedWaits.push(number);
}

/** A wait is open no more. */
export function forgetOpenWait(run: MutableRun, wait: MutableWait): void {
  const { number, task, declaration } = wait;
  const holder = run.tasks[task];
  if (holder !== undefined) {
    const at = holder.openWaits.indexOf(number);
    if (holder.openWaits.length === 1 && at === 0) {
      holder.openWaits = noWaits;
    } else if (at >= 0) {
      holder.openWaits.splice(at, 1);
    }
  }
  const key = subjectKey(declaration);
  if (key !== undefined) {
    removeFrom(run.openWaitsBySubject, key, number);
  }
}

/** Finds a signal by its request from now on, and among those that are kept while no wait has taken it. */
export function indexSignal(run: MutableRun, signal: MutableSignal): void {
  if (run.signalsByRequest === noSignals) {
    run.signalsByRequest = new Map();
  }
  run.signalsByRequest.set(signalRequest(signal), signal.number);
  if (signal.takenBy !== undefined) {
    return;
  }
  if (run.keptSignals === noneKept) {
    run.keptSignals = new Map();
  }
  addTo(run.keptSignals, keptKey(signal), signal.number);
  run.keptSignalCount++;
  run.keptSignalBytes += signalBytes(signal);
}

/** A signal is kept no more. */
export function forgetKeptSignal(run: MutableRun, signal: MutableSignal): void {
  removeFrom(run.keptSignals, keptKey(signal), signal.number);
  run.keptSignalCount--;
  run.keptSignalBytes -= signalBytes(signal);
}

/** Adds an obligation; code of this incarnation finds it by its identity, unless an earlier one made it. */
export function addObligation(run: MutableRun, obligation: MutableObligation): void {
  if (run.obligations === noObligations) {
    run.obligations = [];
  }
  run.obligations.push(obligation);
  if (!obligation.earlier && !isKernels(obligation.declaration)) {
    if (run.obligationsByIdentity === noneByIdentity) {
      run.obligationsByIdentity = new Map();
    }
    run.obligationsByIdentity.set(obligationIdentity(obligation.declaration), obligation.number);
  }
  if (obligation.status === ObligationStatus.OPEN) {
    if (run.openObligations === noneOwed) {
      run.openObligations = new Set();
    }
    run.openObligations.add(obligation.number);
  }
}

/** A child was started that ends with this run. */
export function addOpenChild(run: MutableRun, obligation: number): void {
  if (run.openChildren === noneOpenChildren) {
    run.openChildren = new Set();
  }
  run.openChildren.add(obligation);
}

/** The run has ended, or begins once more: its children are to be ended. */
export function leaveChildren(run: MutableRun): void {
  if (run.openChildren.size > 0) {
    run.strayChildren = new Set(run.openChildren);
  }
}

function addTo(index: Map<string, number[]>, key: string, number: number): void {
  const numbers = index.get(key);
  if (numbers === undefined) {
    index.set(key, [number]);
  } else {
    numbers.push(number);
  }
}

function removeFrom(index: Map<string, number[]>, key: string, number: number): void {
  const numbers = index.get(key);
  const at = numbers?.indexOf(number) ?? -1;
  if (numbers === undefined || at < 0) {
    return;
  }
  numbers.splice(at, 1);
  if (numbers.length === 0) {
    index.delete(key);
  }
}
