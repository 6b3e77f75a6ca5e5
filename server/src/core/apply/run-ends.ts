import { RunStatus, TaskStatus } from "@pawl/proto/v1/run_pb.js";
import type { EventMeta, EventValue } from "../event.js";
import type { MutableRun } from "../state.js";
import { isLegal, isTaskClosed, runStatusName, runTransitions } from "../transitions.js";
import { announceTasks } from "./announce-tasks.js";
import { CorruptHistory } from "./corrupt.js";
import type { ApplyHooks } from "./hooks.js";
import { judgeOrphans, leaveChildren } from "./indices.js";
import { keepFailure } from "./keep.js";
import { moveTask, taskOf } from "./move-task.js";
import { announceObligations } from "./obligations.js";

/** Somebody asked the run to stop. */
export function applyCancelRequested(
  run: MutableRun,
  event: EventValue<"cancelRequested">,
  meta: EventMeta,
  hooks: ApplyHooks,
): void {
  stopRun(run, event.reason, meta, hooks);
}

/** The run is to stop: what nobody holds ends at once, what is leased is told. */
export function stopRun(run: MutableRun, reason: string, meta: EventMeta, hooks: ApplyHooks): void {
  run.cancelRequestedAtMs = meta.atMs;
  run.cancelReason = reason;
  run.version++;
  if (run.deadline !== undefined) {
    hooks.deadlineMoved(run); // It stops already.
  }
  const wasPaused = run.status === RunStatus.PAUSED;
  if (wasPaused) {
    // What runs may need an effect to clean up, and what rolls back goes on.
    run.status = RunStatus.RUNNING;
    run.pause = undefined;
    announceObligations(run, hooks);
  }
  for (const task of run.tasks) {
    if (task.rollsBack !== undefined) {
      continue; // It goes on to its end.
    }
    if (task.status === TaskStatus.LEASED) {
      hooks.taskMoved(run, task.number);
      hooks.cancelAsked(run, task.number, reason);
    } else if (!isTaskClosed(task.status)) {
      moveTask(run, task, TaskStatus.CANCELLED, meta);
      hooks.taskMoved(run, task.number);
    }
  }
  if (wasPaused) {
    announceTasks(run, hooks);
  }
}

/** The run ended; whatever task is still open ends with it. */
export function applyRunClosed(
  run: MutableRun,
  event: EventValue<"runClosed">,
  meta: EventMeta,
  hooks: ApplyHooks,
): void {
  if (!isLegal(runTransitions, run.status, event.status)) {
    throw new CorruptHistory(
      `a state that may follow ${runStatusName(run.status)} for run "${run.runId}"`,
      `it is ${runStatusName(event.status)}`,
    );
  }
  run.status = event.status;
  run.version++;
  run.closedAtMs = meta.atMs;
  if (run.pause !== undefined) {
    run.pause = undefined;
    announceObligations(run, hooks);
  }
  run.failure = keepFailure(event.failure);
  leaveChildren(run);
  if (run.openTasks > 0) {
    for (const task of run.tasks) {
      if (!isTaskClosed(task.status)) {
        moveTask(run, task, TaskStatus.CANCELLED, meta);
        hooks.taskMoved(run, task.number);
      }
    }
  }
  for (const task of run.rollbacksDue) {
    run.rollbacksDue.delete(task); // Whoever ended it at once wants nothing of it any more.
    judgeOrphans(run, taskOf(run, task));
  }
  if (run.deadline !== undefined) {
    hooks.deadlineMoved(run);
  }
  hooks.runClosed(run);
}

/** The kernel's own code failed for this run; nothing of it is offered until a person decides. */
export function applyRunFaulted(
  run: MutableRun,
  event: EventValue<"runFaulted">,
  hooks: ApplyHooks,
): void {
  run.fault = `${event.command}: ${event.error}`;
  run.version++;
  hooks.deadlineMoved(run);
}
