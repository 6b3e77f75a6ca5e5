import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { neededCount } from "../plan/compile-join.js";
import { calledTask, plannedSpec } from "../plan/tasks-of-run.js";
import type { MutableRun, MutableTask } from "../state.js";
import { isSettled, isTaskClosed } from "../transitions.js";
import {
  addEndedWait,
  addUnsettled,
  emptyIndices,
  indexOperation,
  indexProposal,
  indexSignal,
  indexStep,
  indexWait,
  judgeCaller,
  judgeOrphan,
  noneUnsettled,
  noSteps,
  noteReview,
  noWaits,
} from "./indices.js";
import { countEnded } from "./needs-again.js";

/** Derives what follows from tasks, operations, steps, reviews, waits and signals: counts and indices, from none. Takes time in proportion to the run. */
export function indexRun(run: MutableRun): void {
  for (const task of run.tasks) {
    countTask(run, task);
  }
  for (const task of run.called.length === 0 ? [] : run.tasks) {
    orderCalls(run, task);
    judgeCaller(run, task);
  }
  for (const operation of run.operations) {
    indexOperation(run, operation.declaration.key, operation.number);
    if (!isSettled(operation.status)) {
      addUnsettled(run, operation);
      judgeOrphan(run, operation);
    }
  }
  indexSteps(run);
  for (const review of run.reviews) {
    noteReview(run, review);
  }
  indexWaits(run);
  for (const signal of run.signals) {
    indexSignal(run, signal);
  }
}

/** Derives it all anew, after much of the run has changed at once. Obligations, and what the run owes, are left as they are. */
export function indexAnew(run: MutableRun): void {
  const { called, proposals, openProposals, obligations, obligationsByIdentity } = run;
  const { openObligations, openChildren, strayChildren } = run;
  Object.assign(run, emptyIndices(), {
    ...{ called, proposals, openProposals, obligations, obligationsByIdentity },
    ...{ openObligations, openChildren, strayChildren },
    openTasks: 0,
    failedTasks: 0,
  } satisfies Partial<MutableRun>);
  for (const task of run.tasks) {
    unlink(run, task);
  }
  if (called.length > 0) {
    run.calledByName = new Map();
  }
  for (const task of run.tasks) {
    linkCalled(run, task);
  }
  for (const { declaration, number, dropped } of proposals) {
    if (dropped === 0) {
      indexProposal(run, declaration.key, number);
    }
  }
  indexRun(run);
}

function unlink(run: MutableRun, task: MutableTask): void {
  const spec = plannedSpec(run, task.number);
  if (spec !== undefined) {
    task.openNeeds = neededCount(spec);
    task.spareNeeds = spec.needs.length - task.openNeeds;
  }
  task.openWaits = noWaits;
  task.endedWaits = noWaits;
  task.unsettled = noneUnsettled;
  task.steps = noSteps;
  task.openReview = undefined;
  task.calls = undefined;
  task.rollback = undefined;
}

/** A called task is found by its name and by its caller, and one that rolls back by what it undoes, unless it is no longer of the run. */
export function linkCalled(run: MutableRun, task: MutableTask): void {
  const spec = calledTask(run, task.number)?.spec;
  if (spec === undefined || task.dropped !== 0) {
    return;
  }
  run.calledByName.set(spec.name, task.number);
  const caller = run.tasks[task.caller ?? -1];
  if (caller !== undefined) {
    caller.calls ??= { open: new Set(), ended: [] };
    caller.calls.open.add(task.number);
  }
  const undone = run.tasks[task.rollsBack ?? -1];
  if (undone !== undefined) {
    undone.rollback = task.number;
  }
}

function indexWaits(run: MutableRun): void {
  for (const wait of run.waits) {
    if (wait.dropped !== 0) {
      continue;
    }
    indexWait(run, wait);
    if (wait.endedEvent !== 0) {
      addEndedWait(run, wait);
    }
  }
  for (const task of run.waits.length === 0 ? [] : run.tasks) {
    orderEndedWaits(run, task);
  }
}

function indexSteps(run: MutableRun): void {
  for (const step of run.steps) {
    if (step.dropped !== 0) {
      continue;
    }
    indexStep(run, step);
    const task = step.rollback === undefined ? undefined : run.tasks[step.task];
    if (task !== undefined) {
      task.rollback ??= "declared";
    }
  }
}

/** What a task called, in the order of its ends. */
function orderCalls(run: MutableRun, { calls }: MutableTask): void {
  const endOf = (number: number): number => run.tasks[number]?.closedEvent ?? 0;
  calls?.ended.sort((one, other) => endOf(one) - endOf(other) || one - other);
}

/** What a task waited for, in the order of its ends. */
function orderEndedWaits(run: MutableRun, { endedWaits }: MutableTask): void {
  const endOf = (number: number): number => run.waits[number]?.endedEvent ?? 0;
  endedWaits.sort((one, other) => endOf(one) - endOf(other));
}

function countTask(run: MutableRun, task: MutableTask): void {
  if (task.dropped !== 0) {
    return;
  }
  const isOfEarlierPlans = (run.revisions?.supersededIn[task.number] ?? 0) > 0;
  if (isOfEarlierPlans) {
    task.openNeeds = 0;
    task.spareNeeds = 0;
  } else {
    countEnded(run, task);
  }
  if (!isTaskClosed(task.status)) {
    run.openTasks++;
  } else if (task.caller !== undefined) {
    const { calls } = run.tasks[task.caller] ?? task;
    calls?.open.delete(task.number);
    calls?.ended.push(task.number);
  } else if (
    (task.status === TaskStatus.FAILED || task.status === TaskStatus.SKIPPED) &&
    !isOfEarlierPlans
  ) {
    run.failedTasks++;
  }
}
