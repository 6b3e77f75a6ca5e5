import type { EventMeta, EventValue } from "../event.js";
import { compileRecordedCall } from "../plan/compile-recorded.js";
import { isTaken } from "../plan/tasks-of-run.js";
import type { CalledTask, MutableRun, MutableTask } from "../state.js";
import { CorruptHistory } from "./corrupt.js";
import type { ApplyHooks } from "./hooks.js";
import { addCalled, judgeOrphans } from "./indices.js";
import { announceTask, taskOf } from "./move-task.js";
import { leaseBaseOf, noteJoined } from "./plan-revised.js";
import { newTask } from "./run-started.js";

/** What an ended task did is rolled back: by a task of its own. */
export function applyRollbackBegan(
  run: MutableRun,
  event: EventValue<"rollbackBegan">,
  meta: EventMeta,
  hooks: ApplyHooks,
): void {
  const task = taskOf(run, event.task);
  const { rollback } = event;
  if (rollback === undefined || !run.rollbacksDue.delete(task.number)) {
    throw new CorruptHistory(`task ${event.task} to be due for a rollback`, "it is not");
  }
  const spec = compileRecordedCall(rollback, run.tasks.length);
  if (isTaken(run, spec.name)) {
    throw new CorruptHistory(`no task "${spec.name}" before`, "there is one");
  }
  addRollback(run, task, { shape: rollback, spec }, meta.atMs).calledEvent = meta.number;
  run.openTasks++;
  judgeOrphans(run, task);
  announceTask(run, spec.number, hooks);
}

/**
 * Adds the task that rolls another one back, in its first state.
 *
 * @param added its number is the next one of the run.
 */
export function addRollback(
  run: MutableRun,
  undone: MutableTask,
  added: CalledTask,
  atMs: number,
): MutableTask {
  const task = newTask(added.spec, atMs, leaseBaseOf(run));
  task.version = 1; // No plan tells of it, so it has its row from the start.
  task.rollsBack = undone.number;
  undone.rollback = task.number;
  addCalled(run, added);
  noteJoined(run, added, undone.number);
  run.tasks.push(task);
  return task;
}
