import { OnNeedFailure } from "@pawl/proto/v1/plan_pb.js";
import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { dependencyFailedCode, inputNeeds, isLost } from "../joins.js";
import { needRule } from "../plan/compile-join.js";
import { supersededIn } from "../plan/plan-versions.js";
import { nameOfTask, plannedSpec } from "../plan/tasks-of-run.js";
import type { Run, Task } from "../state.js";
import { isTaskClosed } from "../transitions.js";
import { formatCount } from "./format-length.js";

/** Most names that are told. */
const namesMax = 3;

/** What a BLOCKED task waits for, after its name and without a full stop. */
export function explainNeeds(run: Run, task: Task): string {
  const spec = plannedSpec(run, task.number);
  const needs = spec?.needs ?? [];
  if (spec?.join === undefined) {
    const open = needs.filter((need) => run.tasks[need]?.status !== TaskStatus.COMPLETED);
    return `waits until ${listNames(run, open)} ${open.length === 1 ? "completes" : "complete"}`;
  }
  const open = needs.filter((need) => !isTaskClosed(run.tasks[need]?.status ?? 0));
  const mayFail = open.some((need) => needRule(spec, need) === OnNeedFailure.CONTINUE);
  const end = mayFail ? "end" : "complete";
  if (open.length === task.openNeeds) {
    const verb = open.length === 1 ? `${end}s` : end;
    return `waits until ${listNames(run, open)} ${verb}`;
  }
  return `needs ${task.openNeeds} more of ${open.length} to ${end}: ${listNames(run, open)}`;
}

function listNames(run: Run, numbers: readonly number[]): string {
  const names = numbers.slice(0, namesMax).map((need) => `"${nameOfTask(run, need)}"`);
  const more = numbers.length - namesMax;
  return `${names.join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

/** Why a task ended that never was READY, as a sentence. */
export function explainNeverReady(run: Run, { number, status, failure }: Task): string {
  if (status === TaskStatus.FAILED && failure?.code === dependencyFailedCode) {
    return `It never ran, and failed: ${failure.message}`;
  }
  const spec = plannedSpec(run, number);
  const count = spec?.join?.atLeast;
  return spec === undefined || count === undefined || count === spec.needs.length
    ? "It never ran, because a task it needs did not complete."
    : `It never ran, because fewer than ${count} of the ${spec.needs.length} tasks it needs could complete.`;
}

/** Over which of its needs a task went on, as a sentence after another one; empty when all of them completed. */
export function goneOver(run: Run, task: Task): string {
  const spec = plannedSpec(run, task.number);
  if (spec?.join === undefined || task.inputsEvent === 0) {
    return "";
  }
  const lost = inputNeeds(run, task, spec).filter((need) => {
    const found = run.tasks[need];
    return found !== undefined && isLost(found);
  });
  return lost.length === 0
    ? ""
    : ` It went on although ${listNames(run, lost)} did not complete, as its plan says.`;
}

/** How a run completed in which not every task did, without a full stop. */
export function completedOver(run: Run): string {
  const present = run.tasks.filter(({ number }) => supersededIn(run, number) === 0);
  const done = present.filter(({ status }) => status === TaskStatus.COMPLETED).length;
  return `${done} of ${formatCount(present.length, "task")} did their work, and its plan goes on without the others`;
}
