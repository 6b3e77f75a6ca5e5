import { FailureOrigin } from "@pawl/proto/v1/failure_pb.js";
import type { FailureShape } from "@pawl/proto/v1/failure_wire.js";
import { OnNeedFailure } from "@pawl/proto/v1/plan_pb.js";
import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { needRule } from "./plan/compile-join.js";
import { supersededIn } from "./plan/plan-versions.js";
import type { TaskSpec } from "./plan/task-spec.js";
import { nameOfTask, plannedSpec } from "./plan/tasks-of-run.js";
import type { MutableRun, MutableTask, Run, Task } from "./state.js";
import { isTaskClosed, taskStatusName } from "./transitions.js";

/** Code of the failure of a task that cannot be READY any more, when a need of it has the rule FAIL. */
export const dependencyFailedCode = "PAWL_DEPENDENCY_FAILED";

/** True for a task that ended without having done its work. */
export function isLost({ status }: Pick<Task, "status">): boolean {
  return status === TaskStatus.FAILED || status === TaskStatus.SKIPPED;
}

/** Why a task FAILED whose needs cannot satisfy its join any more; undefined: it is SKIPPED, since no need that is lost has the rule FAIL. */
export function dependencyFailure(run: MutableRun, task: MutableTask): FailureShape | undefined {
  const spec = plannedSpec(run, task.number);
  for (const number of spec?.needs ?? []) {
    const need = run.tasks[number];
    if (
      spec !== undefined &&
      need !== undefined &&
      isLost(need) &&
      needRule(spec, number) === OnNeedFailure.FAIL
    ) {
      return failureOver(nameOfTask(run, number), need);
    }
  }
  return undefined;
}

/** Down a chain of them the cause stays the first failure: causes are few. */
function failureOver(name: string, { status, failure }: MutableTask): FailureShape {
  const cause = failure?.code === dependencyFailedCode ? failure.cause : failure;
  return {
    kind: "DependencyFailed",
    code: dependencyFailedCode,
    message: `Task "${name}", which it needs, is ${taskStatusName(status)}.`,
    stack: "",
    retryable: false,
    origin: FailureOrigin.KERNEL,
    ...(cause === undefined ? {} : { cause }),
  };
}

/**
 * The needs of a task that are its input, in the order its plan names them. Those of a join are fixed by the event that satisfied it: what ended later is not
 * among them, in no attempt.
 */
export function inputNeeds(
  run: Pick<Run, "tasks">,
  { inputsEvent }: Pick<Task, "inputsEvent">,
  { needs }: Pick<TaskSpec, "needs">,
): readonly number[] {
  if (inputsEvent === 0) {
    return needs;
  }
  return needs.filter((number) => {
    const need = run.tasks[number];
    return need !== undefined && isTaskClosed(need.status) && need.closedEvent <= inputsEvent;
  });
}

/**
 * True when the run fails, as all its tasks have ended: some task did not complete, and no task took that up. A task takes up what became of its needs by
 * its own end, so it comes to the ends that nobody needs, and to the task whose output is the run's.
 */
export function hasRunFailed(run: Run): boolean {
  const { plan, tasks, failedTasks } = run;
  if (failedTasks === 0 || plan.ranks === undefined) {
    return failedTasks > 0;
  }
  return plan.tasks.some((spec) => {
    const task = tasks[spec.number];
    return task !== undefined && isLost(task) && isLast(run, spec);
  });
}

function isLast({ plan }: Run, { number, dependents }: TaskSpec): boolean {
  return dependents.length === 0 || plan.output === number;
}

/** The failed tasks of the plan that a run which failed is told of: not those that others took up. In plan order. */
export function decisiveFailures(run: Run): Task[] {
  const failed = run.tasks.filter(
    ({ status, caller, number }) =>
      status === TaskStatus.FAILED && caller === undefined && supersededIn(run, number) === 0,
  );
  if (run.plan.ranks === undefined) {
    return failed;
  }
  const decisive = failed.filter(({ number }) => !isTakenUp(run, number));
  return decisive.length === 0 ? failed : decisive;
}

/** True when every task that needs it was READY nevertheless. */
function isTakenUp(run: Run, number: number): boolean {
  const spec = plannedSpec(run, number);
  return (
    spec !== undefined &&
    !isLast(run, spec) &&
    spec.dependents.every((dependent) => run.tasks[dependent]?.firstReadyAtMs !== 0)
  );
}
