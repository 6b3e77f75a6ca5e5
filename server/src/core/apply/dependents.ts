import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import type { EventMeta } from "../event.js";
import { plannedSpec } from "../plan/tasks-of-run.js";
import type { MutableRun, MutableTask } from "../state.js";
import { isTaskClosed } from "../transitions.js";
import type { ApplyHooks } from "./hooks.js";
import { makeReady, moveTask, taskOf, wakeCaller } from "./move-task.js";
import { settleNeeds } from "./settle-needs.js";

/** Opens the tasks that waited for this completed one: joins count down, they never scan. */
export function releaseDependents(
  run: MutableRun,
  completed: MutableTask,
  meta: EventMeta,
  hooks: ApplyHooks,
): void {
  if (run.plan.ranks !== undefined) {
    settleNeeds(run, completed, run.plan.ranks, { meta, hooks });
    return;
  }
  for (const number of plannedSpec(run, completed.number)?.dependents ?? []) {
    const dependent = taskOf(run, number);
    dependent.openNeeds--;
    if (dependent.openNeeds === 0 && dependent.status === TaskStatus.BLOCKED) {
      makeReady(run, dependent, meta, hooks);
    }
  }
}

/** Ends every BLOCKED task that needs this failed one, however far behind it. Each task is skipped once, so a run pays O(edges) in all. */
export function skipDependents(
  run: MutableRun,
  failed: MutableTask,
  meta: EventMeta,
  hooks: ApplyHooks,
): void {
  if (run.plan.ranks !== undefined) {
    settleNeeds(run, failed, run.plan.ranks, { meta, hooks });
    return;
  }
  const queue = [failed.number];
  for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
    for (const number of plannedSpec(run, next)?.dependents ?? []) {
      const dependent = taskOf(run, number);
      if (dependent.status === TaskStatus.BLOCKED) {
        moveTask(run, dependent, TaskStatus.SKIPPED, meta);
        queue.push(number);
      }
    }
  }
}

/** What follows when a lease-holding task went to `to`: FAILED skips dependents, READY is offered again. */
export function settleTask(
  run: MutableRun,
  task: MutableTask,
  to: TaskStatus,
  parts: { meta: EventMeta; hooks: ApplyHooks },
): void {
  const { meta, hooks } = parts;
  if (to === TaskStatus.READY) {
    makeReady(run, task, meta, hooks);
    return;
  }
  moveTask(run, task, to, meta);
  hooks.taskMoved(run, task.number);
  if (to === TaskStatus.FAILED) {
    skipDependents(run, task, meta, hooks);
  }
  if (isTaskClosed(to)) {
    wakeCaller(run, task, meta, hooks);
  }
}
