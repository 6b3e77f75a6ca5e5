import { RunStatus, TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { mustStop } from "./lease-standing.js";
import type { TaskSpec } from "./plan/task-spec.js";
import type { Run, Task } from "./state.js";
import { isRunOpen } from "./transitions.js";

/**
 * When something about this task is due next, in ms since the Unix epoch; undefined when nothing is.
 * Lease ends are not here: they live outside the state, since renewals are memory only.
 */
export function nextDeadlineMs(run: Run, task: Task, spec: TaskSpec): number | undefined {
  if (run.status === RunStatus.PAUSED) {
    return nextWhilePausedMs(run, task, spec);
  }
  const own = ownDeadlineMs(run, task, spec);
  return task.openWaits.length === 0 ? own : earliest(own, waitDeadlineMs(run, task));
}

/**
 * When a run is ended if it is still open; undefined: never, or not by that any more. A pause does not hold it up. One that was asked to stop stops already, and one that
 * is set aside waits for a person.
 */
export function runDeadlineMs(
  run: Pick<Run, "deadline" | "status" | "fault" | "cancelRequestedAtMs">,
): number | undefined {
  const isActing = isRunOpen(run.status) && run.fault === "" && run.cancelRequestedAtMs === 0;
  return isActing ? run.deadline?.atMs : undefined;
}

/** When the first wait of a task is over by its own time. It ends then whatever the task does meanwhile. */
function waitDeadlineMs(run: Run, task: Task): number | undefined {
  let dueMs: number | undefined;
  for (const number of task.openWaits) {
    const { dueAtMs = 0 } = run.waits[number]?.declaration ?? {};
    dueMs = dueAtMs === 0 ? dueMs : earliest(dueMs, dueAtMs);
  }
  return dueMs;
}

function ownDeadlineMs(run: Run, task: Task, spec: TaskSpec): number | undefined {
  switch (task.status) {
    case TaskStatus.READY:
      return earliest(after(task.readyAtMs, spec.scheduleToStartMs), closeDeadline(task, spec));
    case TaskStatus.BACKOFF:
      return earliest(task.dueAtMs, closeDeadline(task, spec));
    case TaskStatus.SUSPENDED:
      return closeDeadline(task, spec);
    case TaskStatus.LEASED:
      return earliest(
        earliest(after(task.leasedAtMs, spec.startToCloseMs), closeDeadline(task, spec)),
        graceDeadlineMs(run, task, spec),
      );
    default:
      return undefined;
  }
}

/** A pause stops no attempt that runs, so its time and its grace go on; everything else is due when the run is resumed. */
function nextWhilePausedMs(run: Run, task: Task, spec: TaskSpec): number | undefined {
  return task.status === TaskStatus.LEASED
    ? earliest(after(task.leasedAtMs, spec.startToCloseMs), graceDeadlineMs(run, task, spec))
    : undefined;
}

/** When the grace after cancellation is over; undefined when nobody asked the task to stop. */
export function graceDeadlineMs(run: Run, task: Task, spec: TaskSpec): number | undefined {
  if (!mustStop(run, task)) {
    return undefined;
  }
  const ofRun = run.cancelRequestedAtMs === 0 ? undefined : run.cancelRequestedAtMs;
  return after(earliest(ofRun, task.stop?.atMs) ?? 0, spec.cancelGraceMs);
}

function closeDeadline(task: Task, spec: TaskSpec): number | undefined {
  return after(task.firstReadyAtMs, spec.scheduleToCloseMs);
}

function after(startMs: number, lengthMs: number | undefined): number | undefined {
  return lengthMs === undefined ? undefined : startMs + lengthMs;
}

function earliest(left: number | undefined, right: number | undefined): number | undefined {
  if (left === undefined) {
    return right;
  }
  return right === undefined ? left : Math.min(left, right);
}
