import { OnNeedFailure } from "@pawl/proto/v1/plan_pb.js";
import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { isLost } from "../joins.js";
import { neededCount, needRule } from "../plan/compile-join.js";
import type { TaskSpec } from "../plan/task-spec.js";
import type { Run, Task } from "../state.js";
import { isTaskClosed, taskStatusName } from "../transitions.js";
import type { Rule } from "./violation.js";

/** What holds of a task of a plan with joins, and of what it counts about the tasks that it needs. */
export function rulesOfJoin(run: Run, task: Task, spec: TaskSpec): Rule[] {
  const needs = spec.needs.flatMap((number) => run.tasks[number] ?? []);
  const lost = needs.filter(
    (need) => isLost(need) && needRule(spec, need.number) !== OnNeedFailure.CONTINUE,
  ).length;
  const counting = needs.filter(
    (need) =>
      need.status === TaskStatus.COMPLETED ||
      (isLost(need) && needRule(spec, need.number) === OnNeedFailure.CONTINUE),
  ).length;
  const least = neededCount(spec);
  const openNeeds = Math.max(0, least - counting);
  const spareNeeds = needs.length - least - lost;
  const wasReady = task.firstReadyAtMs !== 0;
  const isUnreadyEnd = isLost(task) && !wasReady;
  const status = taskStatusName(task.status);
  return [
    [task.openNeeds === openNeeds, `openNeeds ${openNeeds}`, `${task.openNeeds}`],
    [task.spareNeeds === spareNeeds, `spareNeeds ${spareNeeds}`, `${task.spareNeeds}`],
    [!wasReady || openNeeds === 0, "enough needs that count before it was READY", `${openNeeds}`],
    [
      task.status !== TaskStatus.BLOCKED || (openNeeds > 0 && spareNeeds >= 0 && !wasReady),
      "a join that is open and can be satisfied while it is BLOCKED",
      `${openNeeds} more, ${spareNeeds} to spare`,
    ],
    [
      !isUnreadyEnd || spareNeeds < 0,
      `a join that cannot be satisfied when it is ${status} without having been READY`,
      `${spareNeeds} to spare`,
    ],
    [
      task.status !== TaskStatus.SKIPPED || isUnreadyEnd,
      "no time when it was READY when it is SKIPPED",
      `${task.firstReadyAtMs}`,
    ],
    [
      wasReady || isUnreadyEnd || canBeUnready.has(task.status),
      "a time when it first was READY",
      `it is ${status} without one`,
    ],
    ...rulesOfEvents(run, task, spec, wasReady),
  ];
}

const canBeUnready: ReadonlySet<TaskStatus> = new Set([TaskStatus.BLOCKED, TaskStatus.CANCELLED]);

function rulesOfEvents(run: Run, task: Task, spec: TaskSpec, wasReady: boolean): Rule[] {
  if (run.revisions !== undefined) {
    return []; // What ended under a plan without joins says no event.
  }
  const isClosed = isTaskClosed(task.status);
  return [
    [isClosed === task.closedEvent > 0, "the event of its end", `${task.closedEvent}`],
    [task.closedEvent <= run.eventCount, `an end up to ${run.eventCount}`, `${task.closedEvent}`],
    [
      task.inputsEvent > 0 === (wasReady && spec.needs.length > 0),
      "the event that satisfied its join exactly when it was READY after others",
      `${task.inputsEvent}`,
    ],
    [
      task.closedEvent === 0 || task.inputsEvent <= task.closedEvent,
      "an end after its join was satisfied",
      `${task.inputsEvent} after ${task.closedEvent}`,
    ],
  ];
}
