import { LeaseEndReason, TaskTimeoutKind } from "@pawl/proto/log/v1/event_pb.js";
import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import type { FireDeadline } from "../command.js";
import type { DecideContext } from "../context.js";
import { graceDeadlineMs } from "../deadline.js";
import { accept, acceptExisting, type Decision, reject } from "../decision.js";
import type { EventBody } from "../event.js";
import type { Run } from "../state.js";
import { isRunOpen, isTaskClosed } from "../transitions.js";
import { doubtOpenCalls } from "./doubts.js";
import { endLease } from "./end-lease.js";
import { type FoundTask, findTask, taskNotFound } from "./find.js";
import { kernelFailure } from "./kernel-failure.js";

/**
 * Does what is due for a task by now, the first of: schedule-to-close, grace over, start-to-close, schedule-to-start,
 * backoff over. A deadline that the state has left behind does nothing.
 */
export function decideFireDeadline(run: Run, command: FireDeadline, ctx: DecideContext): Decision {
  const found = findTask(run, command.task);
  if (found === undefined) {
    return reject(taskNotFound(command.task));
  }
  const { task, spec } = found;
  if (!isRunOpen(run.status) || run.fault !== "" || isTaskClosed(task.status)) {
    return acceptExisting();
  }
  const isPast = (startMs: number, lengthMs: number | undefined): boolean =>
    lengthMs !== undefined && startMs !== 0 && ctx.nowMs >= startMs + lengthMs;
  const canTimeOut = task.status !== TaskStatus.BLOCKED && task.status !== TaskStatus.NEEDS_REVIEW;
  if (canTimeOut && isPast(task.firstReadyAtMs, spec.scheduleToCloseMs)) {
    return accept(timeOut(run, found, TaskTimeoutKind.SCHEDULE_TO_CLOSE));
  }
  if (task.status === TaskStatus.LEASED) {
    const graceEndsMs = graceDeadlineMs(run, spec);
    if (graceEndsMs !== undefined && ctx.nowMs >= graceEndsMs) {
      return accept(endHeld(run, found, LeaseEndReason.GRACE_OVER, ctx));
    }
    if (isPast(task.leasedAtMs, spec.startToCloseMs)) {
      return accept(endHeld(run, found, LeaseEndReason.TIMED_OUT, ctx));
    }
    return acceptExisting();
  }
  if (task.status === TaskStatus.READY && isPast(task.readyAtMs, spec.scheduleToStartMs)) {
    return accept(timeOut(run, found, TaskTimeoutKind.SCHEDULE_TO_START));
  }
  if (task.status === TaskStatus.BACKOFF && ctx.nowMs >= task.dueAtMs) {
    return accept([{ case: "taskReady", value: { task: task.number } }]);
  }
  return acceptExisting();
}

function endHeld(run: Run, found: FoundTask, reason: LeaseEndReason, ctx: DecideContext): EventBody[] {
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
