import { LeaseEndReason, TaskTimeoutKind } from "@pawl/proto/log/v1/event_pb.js";
import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import type { EventMeta, EventValue } from "../event.js";
import { lostLeaseCause } from "../lease-cause.js";
import type { MutableRun } from "../state.js";
import { CorruptHistory } from "./corrupt.js";
import { releaseDependents, settleTask, skipDependents } from "./dependents.js";
import type { ApplyHooks } from "./hooks.js";
import { keepBytes, keepFailure } from "./keep.js";
import { leasedTaskOf, makeReady, moveTask, taskOf, wakeCaller } from "./move-task.js";
import { reviewOf } from "./reviews.js";
import { noteFailure, noteTrouble } from "./trouble.js";

const unknownFailure = { kind: "", message: "" };

/** A worker got a task. */
export function applyTaskLeased(
  run: MutableRun,
  event: EventValue<"taskLeased">,
  meta: EventMeta,
  hooks: ApplyHooks,
): void {
  const task = taskOf(run, event.task);
  if (event.leaseVersion !== task.leaseVersion + 1) {
    throw new CorruptHistory(
      `lease version ${task.leaseVersion + 1} of task ${event.task} next`,
      `it is ${event.leaseVersion}`,
    );
  }
  moveTask(run, task, TaskStatus.LEASED, meta);
  task.leaseVersion = event.leaseVersion;
  task.attempt = event.attempt;
  task.sessionId = event.sessionId;
  task.worker = event.worker;
  task.codeVersion = event.codeVersion;
  task.leasedAtMs = meta.atMs;
  task.leaseEndReason = LeaseEndReason.UNSPECIFIED;
  hooks.taskMoved(run, task.number);
}

/** A lease ended without a report. */
export function applyLeaseEnded(
  run: MutableRun,
  event: EventValue<"leaseEnded">,
  meta: EventMeta,
  hooks: ApplyHooks,
): void {
  const task = leasedTaskOf(run, event.task, event.leaseVersion);
  task.leaseEndReason = event.reason;
  task.dueAtMs = event.readyAtMs;
  task.unacknowledgedOffers = event.unacknowledgedOffers;
  task.progress = keepBytes(event.progress) ?? task.progress;
  task.failure = keepFailure(event.failure) ?? task.failure;
  if (event.usesAttempt) {
    task.usedAttempts++;
  }
  if (event.failure !== undefined) {
    noteFailure(task, event.failure, meta);
  }
  if (task.trouble !== undefined || event.workerLosses > 0 || event.note !== "") {
    noteTrouble(task, { workerLosses: event.workerLosses, note: event.note });
  }
  if (event.next === TaskStatus.NEEDS_REVIEW) {
    reviewOf(run, event.review).waitingTasks.push(event.task);
  }
  task.sessionId = "";
  hooks.leaseOver(run, task.number, lostLeaseCause(event.reason));
  settleTask(run, task, event.next, { meta, hooks });
}

/** A task completed. */
export function applyTaskCompleted(
  run: MutableRun,
  event: EventValue<"taskCompleted">,
  meta: EventMeta,
  hooks: ApplyHooks,
): void {
  const task = leasedTaskOf(run, event.task, event.leaseVersion);
  task.output = keepBytes(event.output);
  task.reportedLeaseVersion = event.leaseVersion;
  task.usedAttempts++;
  task.sessionId = "";
  moveTask(run, task, TaskStatus.COMPLETED, meta);
  hooks.leaseOver(run, task.number, "");
  hooks.taskMoved(run, task.number);
  releaseDependents(run, task, meta, hooks);
  wakeCaller(run, task, meta, hooks);
}

/** An attempt failed. */
export function applyAttemptFailed(
  run: MutableRun,
  event: EventValue<"attemptFailed">,
  meta: EventMeta,
  hooks: ApplyHooks,
): void {
  const task = leasedTaskOf(run, event.task, event.leaseVersion);
  task.failure = keepFailure(event.failure);
  task.reportedLeaseVersion = event.leaseVersion;
  task.dueAtMs = event.readyAtMs;
  task.progress = keepBytes(event.progress) ?? task.progress;
  task.unacknowledgedOffers = 0;
  task.usedAttempts++;
  noteFailure(task, event.failure ?? unknownFailure, meta);
  noteTrouble(task, { workerLosses: 0, note: "" });
  if (event.next === TaskStatus.NEEDS_REVIEW) {
    reviewOf(run, event.review).waitingTasks.push(event.task);
  }
  task.sessionId = "";
  hooks.leaseOver(run, task.number, "");
  settleTask(run, task, event.next, { meta, hooks });
}

/** The wait for the next attempt is over. */
export function applyTaskReady(
  run: MutableRun,
  event: EventValue<"taskReady">,
  meta: EventMeta,
  hooks: ApplyHooks,
): void {
  const task = taskOf(run, event.task);
  task.dueAtMs = 0;
  makeReady(run, task, meta, hooks);
}

/** A task ran out of time. */
export function applyTaskTimedOut(
  run: MutableRun,
  event: EventValue<"taskTimedOut">,
  meta: EventMeta,
  hooks: ApplyHooks,
): void {
  const task = taskOf(run, event.task);
  const wasLeased = task.status === TaskStatus.LEASED;
  task.failure = keepFailure(event.failure);
  task.leaseEndReason = wasLeased ? LeaseEndReason.TIMED_OUT : task.leaseEndReason;
  task.sessionId = "";
  moveTask(run, task, TaskStatus.FAILED, meta);
  if (wasLeased && event.kind === TaskTimeoutKind.SCHEDULE_TO_CLOSE) {
    hooks.leaseOver(run, task.number, "timed-out");
  }
  hooks.taskMoved(run, task.number);
  skipDependents(run, task, meta, hooks);
  wakeCaller(run, task, meta, hooks);
}

/** A leased task ended because its run was asked to stop. */
export function applyTaskCancelled(
  run: MutableRun,
  event: EventValue<"taskCancelled">,
  meta: EventMeta,
  hooks: ApplyHooks,
): void {
  const task = leasedTaskOf(run, event.task, event.leaseVersion);
  task.failure = keepFailure(event.failure) ?? task.failure;
  task.reportedLeaseVersion = event.leaseVersion;
  task.sessionId = "";
  moveTask(run, task, TaskStatus.CANCELLED, meta);
  hooks.leaseOver(run, task.number, "");
  hooks.taskMoved(run, task.number);
  wakeCaller(run, task, meta, hooks);
}
