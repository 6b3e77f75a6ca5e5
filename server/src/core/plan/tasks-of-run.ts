import type { CalledTask, Run } from "../state.js";
import { supersededIn } from "./plan-versions.js";
import type { TaskSpec } from "./task-spec.js";

/** The specification of a task as it came: with the plan, or with the call of another task. */
export function plannedSpec(
  run: Pick<Run, "plan" | "called" | "revisions">,
  number: number,
): TaskSpec | undefined {
  const { revisions } = run;
  if (revisions !== undefined) {
    return revisions.specs[number]; // Its plan is one of several, so that places in it say nothing.
  }
  const { tasks } = run.plan;
  return tasks[number] ?? run.called[number - tasks.length]?.spec;
}

/** What another task called, or what rolls another one back, by its number; undefined for a task of a plan. */
export function calledTask(
  { plan, called, revisions }: Pick<Run, "plan" | "called" | "revisions">,
  number: number,
): CalledTask | undefined {
  if (revisions === undefined) {
    return called[number - plan.tasks.length];
  }
  let [low, high] = [0, called.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((called[middle]?.spec.number ?? number) < number) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  const found = called[low];
  return found?.spec.number === number ? found : undefined;
}

/** Number of the task of this name; undefined when the run has none. Of several in earlier versions of the plan it is the present one. */
export function taskNumber(
  run: Pick<Run, "plan" | "calledByName">,
  name: string,
): number | undefined {
  return run.plan.byName.get(name) ?? run.calledByName.get(name);
}

/** Name of a task; empty when the run has none of this number. */
export function nameOfTask(
  run: Pick<Run, "plan" | "called" | "revisions">,
  number: number,
): string {
  return plannedSpec(run, number)?.name ?? "";
}

/** True when a task of this name is in the run, and what its name was called for is not of earlier plan versions only. */
export function isTaken(run: Run, name: string): boolean {
  const number = taskNumber(run, name);
  return number !== undefined && supersededIn(run, number) === 0;
}
