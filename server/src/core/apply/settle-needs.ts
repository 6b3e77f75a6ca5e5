import { OnNeedFailure } from "@pawl/proto/v1/plan_pb.js";
import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import type { EventMeta } from "../event.js";
import { dependencyFailure } from "../joins.js";
import { needRule } from "../plan/compile-join.js";
import { plannedSpec } from "../plan/tasks-of-run.js";
import { RankQueue } from "../rank-queue.js";
import type { MutableRun, MutableTask } from "../state.js";
import type { ApplyHooks } from "./hooks.js";
import { makeReady, moveTask } from "./move-task.js";

const nobody = (): void => undefined;

/**
 * What follows from the end of a task for those that need it, however far behind it, in a plan with joins. Tasks are judged in an order in which each
 * comes after all that it needs, so that all ends of one event count together, whatever the order of their names. Each is told once of each need, so a
 * run pays O(edges · log n) in all.
 */
export function settleNeeds(
  run: MutableRun,
  ended: MutableTask,
  ranks: readonly number[],
  { meta, hooks }: { readonly meta: EventMeta; readonly hooks: ApplyHooks },
): void {
  const told = new RankQueue(ranks);
  const tell = ({ number, status }: MutableTask): void => {
    if (status === TaskStatus.BLOCKED) {
      told.add(number);
    }
  };
  countNeed(run, ended, tell);
  for (let next = told.take(); next !== undefined; next = told.take()) {
    const task = run.tasks[next];
    if (task?.status !== TaskStatus.BLOCKED) {
      continue;
    }
    if (task.openNeeds === 0) {
      task.inputsEvent = meta.number;
      makeReady(run, task, meta, hooks);
    } else if (task.spareNeeds < 0) {
      endUnready(run, task, meta);
      countNeed(run, task, tell);
    }
  }
}

/** Counts the end of a task for those that need it. Nothing when it has not ended, or was CANCELLED: then all that need it are CANCELLED too. */
export function countNeed(
  run: MutableRun,
  ended: MutableTask,
  tell: (dependent: MutableTask) => void = nobody,
): void {
  const { number, status } = ended;
  const isComplete = status === TaskStatus.COMPLETED;
  if (!isComplete && status !== TaskStatus.FAILED && status !== TaskStatus.SKIPPED) {
    return;
  }
  for (const dependent of plannedSpec(run, number)?.dependents ?? []) {
    const task = run.tasks[dependent];
    const spec = plannedSpec(run, dependent);
    if (task === undefined || spec === undefined) {
      continue;
    }
    if (isComplete || needRule(spec, number) === OnNeedFailure.CONTINUE) {
      task.openNeeds = Math.max(0, task.openNeeds - 1);
    } else {
      task.spareNeeds--;
    }
    tell(task);
  }
}

/** Too few of its needs are left: it ends without having run. */
export function endUnready(run: MutableRun, task: MutableTask, meta: EventMeta): void {
  const failure = dependencyFailure(run, task);
  if (failure === undefined) {
    moveTask(run, task, TaskStatus.SKIPPED, meta);
    return;
  }
  task.failure = failure;
  moveTask(run, task, TaskStatus.FAILED, meta);
}
