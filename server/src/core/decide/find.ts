import type { OperationLease, TaskRef } from "../command.js";
import { wordsOf } from "../command-words.js";
import { holds, leaseLost } from "../lease-standing.js";
import { specOf } from "../plan/change-spec.js";
import type { TaskSpec } from "../plan/task-spec.js";
import { nameOfTask, taskNumber } from "../plan/tasks-of-run.js";
import { illegalTransition, invalidField, notFound, type Rejection } from "../rejection.js";
import type { Run, Task } from "../state.js";
import { isRunOpen, runStatusName } from "../transitions.js";

/** A task with its specification. */
export interface FoundTask {
  readonly task: Task;
  readonly spec: TaskSpec;
}

/** Finds a task by number or name, of several of one name the present one; undefined when the run has none. */
export function findTask(run: Run, ref: TaskRef): FoundTask | undefined {
  const number = typeof ref === "number" ? ref : (taskNumber(run, ref) ?? lastOfName(run, ref));
  return number === undefined ? undefined : foundTask(run, number);
}

/**
 * Finds the task that a lease was of: the present one of a name, unless that lease was of one that a revision superseded. No two tasks of a name have leases
 * of one version.
 */
export function findLeased(run: Run, ref: TaskRef, leaseVersion: number): FoundTask | undefined {
  const found = findTask(run, ref);
  if (run.revisions === undefined || found === undefined || typeof ref === "number") {
    return found;
  }
  const wasHeld = (task: Task): boolean =>
    task.leasedAtMs !== 0 && task.leaseVersion === leaseVersion;
  if (wasHeld(found.task)) {
    return found;
  }
  const number = run.tasks.findIndex(
    (task) => wasHeld(task) && nameOfTask(run, task.number) === ref,
  );
  return foundTask(run, number) ?? found;
}

/** The last task of a name that only earlier versions of the plan have. */
function lastOfName(run: Run, name: string): number | undefined {
  return run.revisions?.specs.findLast((spec) => spec.name === name)?.number;
}

function foundTask(run: Run, number: number): FoundTask | undefined {
  const task = run.tasks[number];
  const spec = specOf(run, number);
  return task === undefined || spec === undefined ? undefined : { task, spec };
}

/** Refusal of a task that does not exist. */
export function taskNotFound(ref: TaskRef): Rejection {
  return notFound("task", `${ref}`);
}

/** Refusal of an act on an operation of a run that names no lease: only in scope NAMESPACE nobody in particular may act. */
export function refuseWithoutLease(run: Run): Rejection | undefined {
  return run.kind === "ledger"
    ? undefined
    : invalidField("lease", "set in scope TASK and RUN", "absent");
}

/** Why somebody may not act under a lease (or, in scope NAMESPACE, without one). In order: no lease, no task, run over, lease lost. */
export function refuseLease(
  run: Run,
  command: { readonly kind: string; readonly lease: OperationLease | undefined },
  found: FoundTask | undefined,
): Rejection | undefined {
  const { lease } = command;
  if (lease === undefined) {
    return refuseWithoutLease(run);
  }
  if (found === undefined) {
    return taskNotFound(lease.task);
  }
  if (!isRunOpen(run.status)) {
    return runOver(run, command.kind);
  }
  return holds(found.task, lease.leaseVersion)
    ? undefined
    : leaseLost(found.task, lease.leaseVersion);
}

/** Refusal of a command on a run that has ended. */
export function runOver(run: Run, command: string): Rejection {
  const status = runStatusName(run.status);
  return illegalTransition(
    "PAWL_RUN_OVER",
    { entity: "run", status, command, legal: [] },
    `Expected run "${run.runId}" to be open for ${wordsOf(command)}, but it is ${status}. Nothing was changed. Next: read how it ended (pawl run show, run.get()), or start a run under another id.`,
  );
}

/** Refusal of one more part, `parts` by name, than a run may have. */
export function runIsFull(command: string, parts: string, max: number): Rejection {
  return illegalTransition(
    "PAWL_TOO_LARGE",
    { entity: "run", status: "RUNNING", command, legal: ["report output", "report failure"] },
    `Expected at most ${max} ${parts} in a run, but this would be one more. Next: split the work into several runs.`,
  );
}
