import type { MessageInitShape } from "@bufbuild/protobuf";
import type { JoinSchema } from "@pawl/proto/v1/plan_pb.js";
import { type TaskSchema, TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { nextDeadlineMs } from "../../core/deadline.js";
import { specOf } from "../../core/plan/change-spec.js";
import { attemptKind } from "../../core/plan/code-version.js";
import { planVersionOf, supersededIn } from "../../core/plan/plan-versions.js";
import type { TaskSpec } from "../../core/plan/task-spec.js";
import { nameOfTask } from "../../core/plan/tasks-of-run.js";
import { type Run, type Task, taskVersion } from "../../core/state.js";
import { isTaskClosed, taskTransitions } from "../../core/transitions.js";
import { explainWait, type Standpoint } from "../../core/view/why.js";
import { failureView, payloadOf, timestampView } from "./payload-view.js";
import { policyView } from "./policy-view.js";

/** What a task's view is made with. */
export interface TaskViewOptions extends Standpoint {
  /** Lists leave outputs and policies out. */
  readonly isWhole: boolean;
}

/** `pawl.v1.Task` of a task's state; undefined when the run has no such task. */
export function taskView(
  run: Run,
  number: number,
  options: TaskViewOptions,
): MessageInitShape<typeof TaskSchema> | undefined {
  const task = run.tasks[number];
  const spec = specOf(run, number);
  if (task === undefined || spec === undefined) {
    return undefined;
  }
  // An attempt is used when it ends: the one that runs, or waits, is not among those that may still follow.
  const forgiven = task.trouble?.forgivenAttempts ?? 0;
  const isUnderWay = task.status === TaskStatus.LEASED || task.status === TaskStatus.SUSPENDED;
  const attemptsBegun = task.usedAttempts - forgiven + (isUnderWay ? 1 : 0);
  const waitsUntil = timestampView(nextDeadlineMs(run, task, spec) ?? 0);
  return {
    name: spec.name,
    kind: shownKind(run, task, spec),
    codeVersion: task.codeVersion,
    planVersion: planVersionOf(run, number),
    supersededIn: supersededIn(run, number),
    queue: spec.queue,
    status: task.status,
    version: taskVersion(run, task),
    attempt: task.attempt,
    attemptsLeft: Math.max(0, spec.retry.attemptsMax - attemptsBegun),
    leaseVersion: task.leaseVersion,
    generation: task.generation,
    goneInGeneration: task.dropped,
    worker: task.status === TaskStatus.LEASED ? task.worker : "",
    waitsFor: explainWait(run, number, options),
    next: [...(taskTransitions.get(task.status) ?? [])],
    needs: spec.needs.map((need) => nameOfTask(run, need)),
    ...(spec.join === undefined ? {} : { join: joinView(run, spec.join) }),
    inputsEvent: task.inputsEvent,
    ...(waitsUntil === undefined ? {} : { waitsUntil }),
    ...(options.isWhole ? policyView(spec) : {}),
    ...(options.isWhole && task.output !== undefined ? { output: payloadOf(task.output) } : {}),
    ...(task.failure === undefined ? {} : { lastFailure: failureView(task.failure) }),
    ...(task.progress === undefined ? {} : { progress: payloadOf(task.progress) }),
  };
}

function joinView(
  run: Run,
  { atLeast, rules }: NonNullable<TaskSpec["join"]>,
): MessageInitShape<typeof JoinSchema> {
  return {
    atLeast,
    rules: [...rules].map(([need, onFailure]) => ({ task: nameOfTask(run, need), onFailure })),
  };
}

/** What follows, and is still to be taken, will be of the version that is current then. */
function shownKind(run: Run, task: Task, spec: TaskSpec): string {
  const isTaken = task.status === TaskStatus.LEASED || isTaskClosed(task.status);
  return isTaken ? attemptKind(run, task, spec) : spec.kind;
}
