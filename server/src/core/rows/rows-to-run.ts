import type { RunRowShape, TaskRowShape } from "@pawl/proto/log/v1/row_wire.js";
import { addCall } from "../apply/calls.js";
import { CorruptHistory } from "../apply/corrupt.js";
import { indexRun } from "../apply/index-run.js";
import { addObligation, addProposal, keepCalled, leaveChildren } from "../apply/indices.js";
import { noteFamily } from "../apply/obligations.js";
import { addedTask, noteJoined, restoreVersions } from "../apply/plan-revised.js";
import { addRollback } from "../apply/rollback-began.js";
import { emptyRun, newTask } from "../apply/run-started.js";
import { emptyLedger, type PlanSource } from "../apply.js";

import { compileRecordedCall } from "../plan/compile-recorded.js";
import type { CompiledPlan, TaskSpec } from "../plan/task-spec.js";
import { plannedSpec } from "../plan/tasks-of-run.js";
import type { CalledTask, MutableRun, MutableTask } from "../state.js";
import { isRunOpen } from "../transitions.js";
import {
  inputOfRow,
  numberOf,
  obligationOfRow,
  operationOfRow,
  planVersionOfRow,
  proposalOfRow,
  reviewOfRow,
  signalOfRow,
  stepOfRow,
  taskOfRow,
  waitOfRow,
} from "./parts-of-rows.js";
import type { RunRows } from "./run-to-rows.js";

/**
 * Makes the state of an aggregate from its rows. What the rows do not hold is derived: tasks in their first state, open
 * needs, counts and indices. Unless `parts.run.split`, everything is taken from inside the run row and the other parts
 * are not looked at.
 * @throws CorruptHistory when a row is missing, doubled, out of order, or names something that does not exist.
 */
export function restoreRun(parts: RunRows, plans: PlanSource): MutableRun {
  const { run: row } = parts;
  const from = row.split ? parts : row;
  const versions = from.planVersions.map((version) => planVersionOfRow(version, plans));
  const run = restoreHead(row, versions.at(-1)?.plan ?? planOfRow(row, plans));
  if (row.planVersionCount !== versions.length) {
    throw new CorruptHistory(`${row.planVersionCount} versions of its plan`, `${versions.length}`);
  }
  if (versions.length > 0) {
    restoreVersions(run, versions);
  }
  restoreTasks(run, from.tasks);
  run.operations = from.operations.map(operationOfRow);
  run.steps = from.steps.map(stepOfRow);
  run.reviews = from.reviews.map(reviewOfRow);
  run.waits = from.waits.map(waitOfRow);
  for (const proposal of from.proposals) {
    addProposal(run, proposalOfRow(proposal));
  }
  run.signals = from.signals.map(signalOfRow);
  run.inputs = from.inputs.map(inputOfRow);
  for (const obligation of from.obligations) {
    addObligation(run, obligationOfRow(obligation));
    noteFamily(run, obligation.number);
  }
  restoreStrays(run);
  requireAll(run, row);
  indexRun(run);
  return run;
}

function restoreHead(row: RunRowShape, plan: CompiledPlan | undefined): MutableRun {
  const base = plan === undefined ? emptyLedger() : emptyRun(plan);
  return {
    ...base,
    namespace: row.namespace,
    runId: row.runId,
    incarnation: row.incarnation,
    leaseVersionBase: row.leaseVersionBase,
    begunAtEvent: row.begunAtEvent,
    proposalBase: row.proposalBase,
    startRequests: row.startRequests.length === 0 ? base.startRequests : row.startRequests,
    workflow: row.workflow,
    status: row.status,
    version: row.version,
    input: row.input,
    fingerprint: row.fingerprint,
    labels: row.labels,
    traceparent: row.traceparent,
    principal: row.principal,
    parent: row.parent,
    startedAtMs: row.startedAtMs,
    closedAtMs: row.closedAtMs,
    cancelRequestedAtMs: row.cancelRequestedAtMs,
    cancelReason: row.cancelReason,
    pause: row.pause === undefined ? undefined : { ...row.pause },
    failure: row.failure,
    eventCount: row.eventCount,
    fault: row.fault,
    deadline: row.deadline,
    timedOut: row.timedOut,
    deletion: row.deletion,
    legalHold: row.legalHold,
    codeVersion: row.codeVersion,
    continued: row.continued && { startInput: undefined, ...row.continued },
    generation: Math.max(1, row.generation),
    rewinds: row.rewinds.length === 0 ? base.rewinds : row.rewinds,
    earlierRewinds: row.earlierRewinds.length === 0 ? base.earlierRewinds : row.earlierRewinds,
  };
}

/** The plan of a run that was never revised; undefined for a ledger, which has none. */
function planOfRow(row: RunRowShape, plans: PlanSource): CompiledPlan | undefined {
  if (row.runId === "") {
    return undefined;
  }
  if (row.plan === undefined) {
    throw new CorruptHistory(`a plan in the row of run "${row.runId}"`, "there is none");
  }
  return plans(row.plan);
}

function restoreTasks(run: MutableRun, rows: readonly TaskRowShape[]): void {
  run.tasks = firstSpecs(run).map((spec) => newTask(spec, run.startedAtMs, run.leaseVersionBase));
  let before = -1;
  for (const row of rows) {
    const first = row.called === undefined ? plannedTask(run, row) : restoreCall(run, row);
    if (first === undefined || row.number <= before) {
      throw new CorruptHistory(
        `rows of tasks below ${run.tasks.length} by rising number`,
        `task ${row.number} follows ${before}`,
      );
    }
    before = row.number;
    const { caller, calls, rollsBack, rollback } = first;
    const task = taskOfRow(row, first, plannedSpec(run, row.number));
    run.tasks[row.number] = { ...task, caller, calls, rollsBack, rollback };
  }
}

/** What the tasks were that the run began with, as its present plan, or the last that had them, says. */
function firstSpecs({ plan, revisions }: MutableRun): readonly TaskSpec[] {
  return revisions === undefined
    ? plan.tasks
    : revisions.specs.slice(0, revisions.versions[0]?.plan.tasks.length);
}

/** The first state of a task of a plan; undefined when there is none of its number, or it is not the next one. */
function plannedTask(run: MutableRun, row: TaskRowShape): MutableTask | undefined {
  const known = run.tasks[row.number];
  const spec = run.revisions?.specs[row.number];
  if (known !== undefined || spec === undefined || row.number !== run.tasks.length) {
    return known;
  }
  const task = addedTask(spec, row.firstReadyAtMs, 0);
  run.tasks.push(task);
  return task;
}

/** The first state of a task that another one called, or that rolls another one back; undefined when it is not the next one. */
function restoreCall(run: MutableRun, row: TaskRowShape): MutableTask | undefined {
  const caller = run.tasks[numberOf(row.rollsBack) ?? row.caller];
  if (row.called === undefined || caller === undefined || row.number !== run.tasks.length) {
    return undefined;
  }
  const spec = compileRecordedCall(row.called, row.number);
  if (row.dropped !== 0) {
    return restoreDropped(run, row, { shape: row.called, spec });
  }
  return (row.rollsBack === 0 ? addCall : addRollback)(
    run,
    caller,
    { shape: row.called, spec },
    row.firstReadyAtMs,
  );
}

/** One that is no longer of the run: nothing finds it. */
function restoreDropped(run: MutableRun, row: TaskRowShape, called: CalledTask): MutableTask {
  const task = newTask(called.spec, row.firstReadyAtMs, run.leaseVersionBase);
  const rollsBack = numberOf(row.rollsBack);
  task.rollsBack = rollsBack;
  task.caller = rollsBack === undefined ? row.caller : undefined;
  keepCalled(run, called);
  noteJoined(run, called, rollsBack ?? row.caller);
  run.tasks.push(task);
  return task;
}

/** Only between two events of one commit are there strays; rows are of whole commits, but that is not for them to know. */
function restoreStrays(run: MutableRun): void {
  if (!isRunOpen(run.status)) {
    leaveChildren(run);
    return;
  }
  const left = [...run.openChildren].filter((number) => {
    const { earlier, declaration } = run.obligations[number] ?? {};
    return earlier || (run.revisions?.supersededIn[declaration?.task ?? -1] ?? 0) > 0;
  });
  if (left.length > 0) {
    run.strayChildren = new Set(left);
  }
}

/** The run row counts its rows, so that a lost one is seen and not served as "never happened". */
function requireAll(run: MutableRun, row: RunRowShape): void {
  if (row.taskCount > 0 && run.tasks.length !== row.taskCount) {
    throw new CorruptHistory(`${row.taskCount} tasks`, `there are ${run.tasks.length}`);
  }
  if (run.called.length !== row.calledCount) {
    throw new CorruptHistory(`${row.calledCount} rows of called tasks`, `${run.called.length}`);
  }
  requireNumbered("operations", run.operations, row.operationCount);
  requireNumbered("steps", run.steps, row.stepCount);
  requireNumbered("reviews", run.reviews, row.reviewCount);
  requireNumbered("waits", run.waits, row.waitCount);
  requireNumbered("proposals", run.proposals, row.proposalCount);
  requireNumbered("signals", run.signals, row.signalCount);
  requireNumbered("input requests", run.inputs, row.inputCount);
  requireNumbered("obligations", run.obligations, row.obligationCount);
}

function requireNumbered(
  what: string,
  items: readonly { readonly number: number }[],
  count: number,
): void {
  if (items.length !== count) {
    throw new CorruptHistory(`${count} rows of ${what}`, `there are ${items.length}`);
  }
  const wrong = items.findIndex((item, index) => item.number !== index);
  if (wrong >= 0) {
    throw new CorruptHistory(`row ${wrong} of the ${what} next`, `it is ${items[wrong]?.number}`);
  }
}
