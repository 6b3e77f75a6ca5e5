import { FailureOrigin } from "@pawl/proto/v1/failure_pb.js";
import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import type { EventMeta } from "../event.js";
import type { MutableRun, MutableTask } from "../state.js";
import { releaseDependents, settleTask } from "./dependents.js";
import type { ApplyHooks } from "./hooks.js";
import { moveTask, wakeCaller } from "./move-task.js";

/** A person completes a task, with an output or without one; what needs it goes on. */
export function completeByPerson(
  run: MutableRun,
  task: MutableTask,
  output: Uint8Array | undefined,
  { meta, hooks }: { readonly meta: EventMeta; readonly hooks: ApplyHooks },
): void {
  task.output = output;
  task.endedByPerson = true;
  moveTask(run, task, TaskStatus.COMPLETED, meta);
  hooks.taskMoved(run, task.number);
  releaseDependents(run, task, meta, hooks);
  wakeCaller(run, task, meta, hooks);
}

/** A person fails a task for good; its last failure is told as the cause. */
export function failByPerson(
  run: MutableRun,
  task: MutableTask,
  reason: string,
  parts: { readonly meta: EventMeta; readonly hooks: ApplyHooks },
): void {
  task.failure = {
    kind: "FailedByPerson",
    code: "PAWL_FAILED_BY_PERSON",
    message: reason,
    stack: "",
    retryable: false,
    origin: FailureOrigin.PERSON,
    ...(task.failure === undefined ? {} : { cause: task.failure }),
  };
  task.endedByPerson = true;
  settleTask(run, task, TaskStatus.FAILED, parts);
}
