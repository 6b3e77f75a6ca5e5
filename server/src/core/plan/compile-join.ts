import { OnNeedFailure } from "@pawl/proto/v1/plan_pb.js";
import type { PlanTaskShape } from "@pawl/proto/v1/plan_wire.js";
import { PlanProblem } from "./plan-problem.js";
import type { JoinSpec, TaskSpec } from "./task-spec.js";

/**
 * What a task's join says, checked; undefined when it says what holds without one: it waits for all, and is SKIPPED when one fails.
 *
 * @param needs numbers of the tasks that it needs, in the order of `task.needs`.
 * @throws PlanProblem
 */
export function compileJoin(
  task: PlanTaskShape,
  needs: readonly number[],
  field: string,
): JoinSpec | undefined {
  const { join } = task;
  if (join === undefined) {
    return undefined;
  }
  if (join.atLeast > needs.length) {
    throw new PlanProblem(
      `${field}.join.at_least`,
      `0 to ${needs.length}, as it has so many needs`,
      `${join.atLeast}`,
    );
  }
  const rules = new Map<number, OnNeedFailure>();
  for (const [index, rule] of join.rules.entries()) {
    const ruleField = `${field}.join.rules[${index}]`;
    const need = needs[task.needs.indexOf(rule.task)];
    if (need === undefined) {
      throw new PlanProblem(`${ruleField}.task`, "one of its needs", `"${rule.task}"`);
    }
    if (rules.has(need)) {
      throw new PlanProblem(`${ruleField}.task`, "each need once", `"${rule.task}" a second time`);
    }
    if (!(rule.onFailure >= 0 && rule.onFailure <= OnNeedFailure.CONTINUE)) {
      throw new PlanProblem(
        `${ruleField}.on_failure`,
        `0 to ${OnNeedFailure.CONTINUE}`,
        `${rule.onFailure}`,
      );
    }
    rules.set(need, rule.onFailure === 0 ? OnNeedFailure.SKIP : rule.onFailure);
  }
  const atLeast = join.atLeast === 0 ? needs.length : join.atLeast;
  const isPlain =
    atLeast === needs.length && [...rules.values()].every((rule) => rule === OnNeedFailure.SKIP);
  return isPlain ? undefined : { atLeast, rules };
}

/** How many of its needs must count before a task is READY. */
export function neededCount({ join, needs }: Pick<TaskSpec, "join" | "needs">): number {
  return join?.atLeast ?? needs.length;
}

/** What it means to a task that this need of it did not complete. */
export function needRule({ join }: Pick<TaskSpec, "join">, need: number): OnNeedFailure {
  return join?.rules.get(need) ?? OnNeedFailure.SKIP;
}

/**
 * Places of the tasks in an order in which each comes after all that it needs; undefined for a plan without joins, which has no use for it.
 * The graph has no cycles.
 */
export function rankTasks(tasks: readonly TaskSpec[]): readonly number[] | undefined {
  if (tasks.every(({ join }) => join === undefined)) {
    return undefined;
  }
  const open = tasks.map((task) => task.needs.length);
  const order = tasks.filter((task) => task.needs.length === 0).map((task) => task.number);
  const ranks = tasks.map(() => 0);
  for (let place = 0; place < order.length; place++) {
    const next = order[place] ?? -1;
    ranks[next] = place;
    for (const dependent of tasks[next]?.dependents ?? []) {
      const left = (open[dependent] ?? 0) - 1;
      open[dependent] = left;
      if (left === 0) {
        order.push(dependent);
      }
    }
  }
  return ranks;
}
