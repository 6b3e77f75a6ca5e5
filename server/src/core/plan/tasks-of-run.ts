import type { Run } from "../state.js";
import type { TaskSpec } from "./task-spec.js";

/** The specification of a task as it came: with the plan, or with the call of another task. */
export function plannedSpec(run: Pick<Run, "plan">, number: number): TaskSpec | undefined {
  return run.plan.tasks[number];
}

/** Number of the task of this name; undefined when the run has none. */
export function taskNumber(run: Pick<Run, "plan">, name: string): number | undefined {
  return run.plan.byName.get(name);
}

/** Name of a task; empty when the run has none of this number. */
export function nameOfTask(run: Pick<Run, "plan">, number: number): string {
  return plannedSpec(run, number)?.name ?? "";
}
