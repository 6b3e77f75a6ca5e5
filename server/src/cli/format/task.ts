import { type Task, TaskStatus, TaskStatusSchema } from "@pawl/proto/v1/run_pb.js";
import { enumCell } from "./enum-word.js";
import { describeFailure } from "./failure.js";
import { describePayload } from "./payload.js";
import type { Cell } from "./table.js";
import { type Clock, formatTime } from "./time.js";

/** Headings of a list of tasks. */
export const TASK_HEADINGS: readonly string[] = [
  "TASK",
  "KIND",
  "STATUS",
  "ATTEMPT",
  "WORKER",
  "WHY",
  "LAST FAILURE",
];

const ENDED: ReadonlySet<TaskStatus> = new Set([
  TaskStatus.COMPLETED,
  TaskStatus.FAILED,
  TaskStatus.SKIPPED,
  TaskStatus.CANCELLED,
]);

/** Whether a task has ended. */
export function isEnded(task: Task): boolean {
  return ENDED.has(task.status);
}

/** A task as a row of a list. */
export function taskRow(task: Task): Cell[] {
  return [
    task.name,
    task.kind,
    enumCell(TaskStatusSchema, task.status),
    describeAttempt(task),
    task.worker,
    task.waitsFor,
    task.lastFailure === undefined ? "" : describeFailure(task.lastFailure),
  ];
}

/** `2, 3 left`; nothing before the first attempt. */
function describeAttempt(task: Task): string {
  if (task.attempt === 0) return "";
  return isEnded(task) ? `${task.attempt}` : `${task.attempt}, ${task.attemptsLeft} left`;
}

/** Lines that say why a task has not ended: what it waits for, its last failure, its last progress. */
export function taskReasons(task: Task, clock: Clock): (readonly [string, string | undefined])[] {
  const { lastFailure, progress } = task;
  return [
    ["why", task.waitsFor],
    ["until", task.waitsUntil === undefined ? undefined : formatTime(task.waitsUntil, clock)],
    ["attempt", describeAttempt(task)],
    ["held by", task.worker],
    ["last failure", lastFailure === undefined ? undefined : describeFailure(lastFailure)],
    ["progress", progress === undefined ? undefined : describePayload(progress, 200)],
  ];
}
