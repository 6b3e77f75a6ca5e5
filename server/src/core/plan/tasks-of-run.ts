import type { Run } from "../state.js";
import type { TaskSpec } from "./task-spec.js";

/** The specification of a task as it came: with the plan, or with the call of another task. */
export function plannedSpec(
  run: Pick<Run, "plan" | "called">,
  number: number,
): TaskSpec | undefined {
  const { tasks } = run.plan;
  return tasks[number] ?? run.called[number - tasks.length]?.spec;
}

/** Number of the task of this name; undefined when the run has none. */
export function taskNumber(
  run: Pick<Run, "plan" | "calledByName">,
  name: string,
): number | undefined {
  return run.plan.byName.get(name) ?? run.calledByName.get(name);
}

/** Name of a task; empty when the run has none of this number. */
export function nameOfTask(run: Pick<Run, "plan" | "called">, number: number): string {
  return plannedSpec(run, number)?.name ?? "";
}
