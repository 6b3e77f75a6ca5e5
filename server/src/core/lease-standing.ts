import { LeaseEndReason } from "@pawl/proto/log/v1/event_pb.js";
import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { lostLeaseCause } from "./lease-cause.js";
import type { Rejection } from "./rejection.js";
import type { Run, Task } from "./state.js";
import { taskStatusName } from "./transitions.js";

/** True when this lease version holds the task now. */
export function holds(task: Task, leaseVersion: number): boolean {
  return task.status === TaskStatus.LEASED && task.leaseVersion === leaseVersion;
}

/** True when the run was asked to stop and this task with it, or its caller asked it: one that rolls back goes on. */
export function mustStop(run: Run, task: Task): boolean {
  const isAsked = run.cancelRequestedAtMs !== 0 || task.stop !== undefined;
  return isAsked && task.rollsBack === undefined;
}

/** Refusal of a lease that is not the current one. `held` is the caller's. */
export function leaseLost(task: Task, held: number): Rejection {
  const status = taskStatusName(task.status);
  const cause = held === task.leaseVersion ? lostLeaseCause(task.leaseEndReason) : "";
  return {
    reason: "PAWL_LEASE_LOST",
    message:
      `Expected lease version ${held} to hold the task, but it is ${status} under lease version ${task.leaseVersion}. ` +
      "Next: stop the attempt; nothing it reports counts any more.",
    detail: {
      case: "leaseLost",
      value: {
        held,
        current: task.leaseVersion,
        status,
        cause: task.leaseEndReason === LeaseEndReason.UNSPECIFIED ? "" : cause,
      },
    },
  };
}
