import { LeaseEndReason, TaskTimeoutKind } from "@pawl/proto/log/v1/event_pb.js";
import { RunStatus, TaskStatus } from "@pawl/proto/v1/run_pb.js";
import type { FireDeadline } from "../command.js";
import type { DecideContext } from "../context.js";
import { graceDeadlineMs } from "../deadline.js";
import { accept, acceptExisting, type Decision, reject } from "../decision.js";
import type { EventBody } from "../event.js";
import type { Run } from "../state.js";
import { isRunOpen, isTaskClosed } from "../transitions.js";
import { doubtOpenCalls } from "./doubts.js";
import { endLease } from "./end-lease.js";
import { endDueWaits } from "./end-waits.js";
import { type FoundTask, findTask, taskNotFound } from "./find.js";
import { kernelFailure } from "./kernel-failure.js";

/**
 * Does what is due for a task by now, the first of: schedule-to-close, grace over, start-to-close, schedule-to-start,
 * backoff over, the time of a wait. A deadline that the state has left behind does nothing, and neither does one of a run that is set aside,
 * nor, in a paused run, any but that of an attempt that runs.
 * Refusals, in order: no task.
 */
export function decideFireDeadline(run: Run, command: FireDeadline, ctx: DecideContext): Decision {
  const found = findTask(run, command.task);
  if (found === undefined) {
    return reject(taskNotFound(command.task));
  }
  if (!isRunOpen(run.status) || run.fault !== "" || isTaskClosed(found.task.status)) {
    return acceptExisting();
  }
  const own = findDue(run, found, ctx);
  const hasWaits = own.length === 0 && run.status !== RunStatus.PAUSED;
  const events = hasWaits ? endDueWaits(run, found.task, ctx.nowMs) : own;
  return events.length === 0 ? acceptExisting() : accept(events);
}

function findDue(run: Run, found: FoundTask, ctx: DecideContext): EventBody[] {
  const { task, spec } = found;
  if (run.status === RunStatus.PAUSED) {
    return task.status === TaskStatus.LEASED ? findDueOfHeld(run, found, ctx) : [];
  }
  const canTimeOut = task.status !== TaskStatus.BLOCKED && task.status !== TaskStatus.NEEDS_REVIEW;
  if (canTimeOut && isPast(task.firstReadyAtMs, spec.scheduleToCloseMs, ctx)) {
    return timeOut(run, found, TaskTimeoutKind.SCHEDULE_TO_CLOSE);
  }
  switch (task.status) {
    case TaskStatus.LEASED:
      return findDueOfHeld(run, found, ctx);
    case TaskStatus.READY:
      return isPast(task.readyAtMs, spec.scheduleToStartMs, ctx)
        ? timeOut(run, found, TaskTimeoutKind.SCHEDULE_TO_START)
        : [];
    case TaskStatus.BACKOFF:
      return ctx.nowMs >= task.dueAtMs ? [{ case: "taskReady", value: { task: task.number } }] : [];
    default:
      return [];
  }
}

function findDueOfHeld(run: Run, found: FoundTask, ctx: DecideContext): EventBody[] {
  const { task, spec } = found;
  const graceEndsMs = graceDeadlineMs(run, task, spec);
  if (graceEndsMs !== undefined && ctx.nowMs >= graceEndsMs) {
    return endHeld(run, found, LeaseEndReason.GRACE_OVER, ctx);
  }
  return isPast(task.leasedAtMs, spec.startToCloseMs, ctx)
    ? endHeld(run, found, LeaseEndReason.TIMED_OUT, ctx)
    : [];
}

function isPast(startMs: number, lengthMs: number | undefined, ctx: DecideContext): boolean {
  return lengthMs !== undefined && startMs !== 0 && ctx.nowMs >= startMs + lengthMs;
}

function endHeld(
  run: Run,
  found: FoundTask,
  reason: LeaseEndReason,
  ctx: DecideContext,
): EventBody[] {
  return endLease(run, found, { reason, delayMs: 0, progress: undefined }, ctx);
}

function timeOut(run: Run, found: FoundTask, kind: TaskTimeoutKind): EventBody[] {
  const { task, spec } = found;
  const [name, lengthMs, code] =
    kind === TaskTimeoutKind.SCHEDULE_TO_CLOSE
      ? ["schedule-to-close", spec.scheduleToCloseMs, "PAWL_TASK_TIMED_OUT"]
      : ["schedule-to-start", spec.scheduleToStartMs, "PAWL_NOT_STARTED_IN_TIME"];
  const failure = kernelFailure(
    "TimedOut",
    code ?? "",
    `Expected task "${spec.name}" to keep ${name} (${lengthMs} ms), but it did not.`,
    false,
  );
  if (task.failure !== undefined) {
    failure.cause = task.failure as typeof failure;
  }
  return [
    ...doubtOpenCalls(run, task.number, task.leaseVersion),
    { case: "taskTimedOut", value: { task: task.number, kind, failure } },
  ];
}
