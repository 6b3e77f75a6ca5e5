import { RunStatus, TaskStatus } from "@pawl/proto/v1/run_pb.js";
import type { EventMeta } from "../event.js";
import type { MutableRun, MutableTask } from "../state.js";
import {
  isLegal,
  isRunOpen,
  isTaskClosed,
  taskStatusName,
  taskTransitions,
} from "../transitions.js";
import { closeWaits } from "./close-waits.js";
import { CorruptHistory } from "./corrupt.js";
import type { ApplyHooks } from "./hooks.js";
import { addRollbackDue, judgeCaller, judgeOrphans } from "./indices.js";

/** The task of this number. */
export function taskOf(run: MutableRun, number: number): MutableTask {
  const task = run.tasks[number];
  if (task === undefined) {
    throw new CorruptHistory(
      `a task ${number} in run "${run.runId}"`,
      `it has ${run.tasks.length} tasks`,
    );
  }
  return task;
}

/** The task of this number, which must be LEASED under this lease version. */
export function leasedTaskOf(run: MutableRun, number: number, leaseVersion: number): MutableTask {
  const task = taskOf(run, number);
  if (task.status !== TaskStatus.LEASED || task.leaseVersion !== leaseVersion) {
    throw new CorruptHistory(
      `task ${number} to be LEASED under lease version ${leaseVersion}`,
      `it is ${taskStatusName(task.status)} under ${task.leaseVersion}`,
    );
  }
  return task;
}

/** Moves a task to another state and keeps the counts of its run. Everything that follows for other tasks is in `dependents.ts`. */
export function moveTask(
  run: MutableRun,
  task: MutableTask,
  to: TaskStatus,
  meta: EventMeta,
): void {
  if (!isLegal(taskTransitions, task.status, to)) {
    throw new CorruptHistory(
      `a state that may follow ${taskStatusName(task.status)} for task ${task.number}`,
      `it is ${taskStatusName(to)}`,
    );
  }
  task.status = to;
  task.version++;
  if (to === TaskStatus.READY) {
    task.readyAtMs = meta.atMs;
    if (task.firstReadyAtMs === 0) {
      task.firstReadyAtMs = meta.atMs;
    }
  } else if (isTaskClosed(to)) {
    closeTask(run, task, to, meta);
  }
}

function closeTask(run: MutableRun, task: MutableTask, to: TaskStatus, meta: EventMeta): void {
  task.closedAtMs = meta.atMs;
  task.closedEvent = meta.number;
  run.openTasks--;
  const isUndone = to === TaskStatus.FAILED || to === TaskStatus.CANCELLED;
  if (task.rollback === "declared" && isUndone && isRunOpen(run.status)) {
    addRollbackDue(run, task.number);
  }
  if (task.unsettled.size > 0) {
    judgeOrphans(run, task);
  }
  if (task.rollsBack !== undefined) {
    judgeOrphans(run, taskOf(run, task.rollsBack));
  }
  if (task.openWaits.length > 0) {
    closeWaits(run, task, meta);
  }
  if (task.caller !== undefined) {
    endCall(run, task, task.caller);
  } else if (to === TaskStatus.FAILED || to === TaskStatus.SKIPPED) {
    run.failedTasks++;
  }
  if (task.calls !== undefined) {
    judgeCaller(run, task);
  }
}

/** A called task has ended: its caller may go on. */
function endCall(run: MutableRun, task: MutableTask, caller: number): void {
  const { calls } = taskOf(run, caller);
  calls?.open.delete(task.number);
  calls?.ended.push(task.number);
  if (run.endedCallers.has(caller)) {
    judgeCaller(run, taskOf(run, caller));
  }
}

/** Tells a caller that what it called has ended: it is woken, or its worker is told. */
export function wakeCaller(
  run: MutableRun,
  task: MutableTask,
  meta: EventMeta,
  hooks: ApplyHooks,
): void {
  if (task.caller === undefined) {
    return;
  }
  const caller = taskOf(run, task.caller);
  if (caller.status === TaskStatus.SUSPENDED) {
    makeReady(run, caller, meta, hooks);
  } else if (caller.status === TaskStatus.LEASED) {
    hooks.outcomeCame(run, caller.number);
  }
}

/** Tells of a task that is new. */
export function announceTask(run: MutableRun, number: number, hooks: ApplyHooks): void {
  hooks.taskMoved(run, number);
  if (run.status === RunStatus.RUNNING) {
    hooks.taskReady(run, number);
  }
}

/** Moves a task to READY and says so. */
export function makeReady(
  run: MutableRun,
  task: MutableTask,
  meta: EventMeta,
  hooks: ApplyHooks,
): void {
  moveTask(run, task, TaskStatus.READY, meta);
  hooks.taskMoved(run, task.number);
  if (run.status === RunStatus.RUNNING) {
    hooks.taskReady(run, task.number);
  }
}
