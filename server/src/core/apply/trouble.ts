import type { FailureShape } from "@pawl/proto/v1/failure_wire.js";
import type { EventMeta } from "../event.js";
import { limits } from "../limits.js";
import type { MutableTask, TaskTrouble } from "../state.js";

const none: TaskTrouble = { workerLosses: 0, forgivenAttempts: 0, failures: [], note: "" };

/** Changes what is known of a task's trouble; a task without any has no such object. */
export function noteTrouble(task: MutableTask, changes: Partial<TaskTrouble>): void {
  const { trouble = none } = task;
  const next = { ...trouble, ...changes };
  const isNothing =
    next.workerLosses === 0 &&
    next.forgivenAttempts === 0 &&
    next.failures.length === 0 &&
    next.note === "";
  task.trouble = isNothing ? undefined : next;
}

/** Keeps the attempt that just failed for people, in few words: the latest ones only. */
export function noteFailure(
  task: MutableTask,
  failure: Pick<FailureShape, "kind" | "message">,
  meta: EventMeta,
): void {
  const { failures = [] } = task.trouble ?? none;
  const note = {
    attempt: task.attempt,
    worker: task.worker,
    kind: failure.kind,
    message: cut(failure.message),
    atMs: meta.atMs,
  };
  noteTrouble(task, { failures: [...failures, note].slice(-limits.failureNotesMax) });
}

/** A person gave the task all its attempts anew. */
export function forgiveAttempts(task: MutableTask): void {
  task.unacknowledgedOffers = 0;
  noteTrouble(task, { workerLosses: 0, forgivenAttempts: task.usedAttempts });
}

/** Never cuts a surrogate pair in half. */
function cut(text: string): string {
  return text.length <= limits.failureNoteLengthMax
    ? text
    : `${text.slice(0, limits.failureNoteLengthMax - 1).replace(/[\ud800-\udbff]$/, "")}…`;
}
