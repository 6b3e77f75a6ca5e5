import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import type { EventMeta } from "../event.js";
import { isLost } from "../joins.js";
import { neededCount } from "../plan/compile-join.js";
import { plannedSpec } from "../plan/tasks-of-run.js";
import type { MutableRun, MutableTask } from "../state.js";
import { moveTask, taskOf } from "./move-task.js";
import { countNeed, endUnready } from "./settle-needs.js";

/** Counts anew, for every task of the present plan, what it still waits for: another plan may count otherwise. */
export function countNeeds(run: MutableRun): void {
  for (const spec of run.plan.tasks) {
    const task = taskOf(run, spec.number);
    task.openNeeds = neededCount(spec);
    task.spareNeeds = spec.needs.length - task.openNeeds;
  }
  for (const { number } of run.plan.tasks) {
    countEnded(run, taskOf(run, number));
  }
}

/** Counts a task of the present plan that has ended for those that need it. */
export function countEnded(run: MutableRun, ended: MutableTask): void {
  if (run.plan.ranks !== undefined) {
    countNeed(run, ended);
  } else if (ended.status === TaskStatus.COMPLETED) {
    for (const number of plannedSpec(run, ended.number)?.dependents ?? []) {
      const dependent = run.tasks[number];
      if (dependent !== undefined) {
        dependent.openNeeds--;
      }
    }
  }
}

/**
 * What follows for tasks that a revision added, from `first` on, when what they need has ended before: they are READY, or end without having run. Each comes after what it
 * needs, so that an end among them counts for those behind it. The caller tells of what is READY.
 */
export function settleAdded(run: MutableRun, first: number, meta: EventMeta): void {
  for (const number of inOrderOfNeeds(run, first)) {
    const task = taskOf(run, number);
    if (task.status !== TaskStatus.BLOCKED) {
      continue;
    }
    const hasJoins = run.plan.ranks !== undefined;
    if (task.openNeeds === 0) {
      task.inputsEvent = hasJoins ? meta.number : 0;
      moveTask(run, task, TaskStatus.READY, meta);
    } else if (hasJoins && task.spareNeeds < 0) {
      endUnready(run, task, meta);
      countNeed(run, task);
    } else if (!hasJoins && needsLost(run, number)) {
      moveTask(run, task, TaskStatus.SKIPPED, meta);
    }
  }
}

function needsLost(run: MutableRun, number: number): boolean {
  return (plannedSpec(run, number)?.needs ?? []).some((need) => isLost(taskOf(run, need)));
}

/** The tasks from `first` on, each after those that it needs. */
function inOrderOfNeeds(run: MutableRun, first: number): number[] {
  const added = run.plan.tasks.filter(({ number }) => number >= first);
  const open = new Map(
    added.map(({ number, needs }) => [number, needs.filter((need) => need >= first).length]),
  );
  const order = added.filter(({ number }) => open.get(number) === 0).map(({ number }) => number);
  for (let place = 0; place < order.length; place++) {
    for (const dependent of plannedSpec(run, order[place] ?? -1)?.dependents ?? []) {
      const left = (open.get(dependent) ?? 0) - 1;
      open.set(dependent, left);
      if (left === 0) {
        order.push(dependent);
      }
    }
  }
  return order;
}
