import { RunStatus, TaskStatus } from "@pawl/proto/v1/run_pb.js";
import type { LeaseTask } from "../command.js";
import { accept, type Decision, reject } from "../decision.js";
import { illegalTransition } from "../rejection.js";
import type { Run } from "../state.js";
import { isRunOpen, runStatusName, taskStatusName } from "../transitions.js";
import { findTask, runOver, taskNotFound } from "./find.js";

/** Gives a READY task to a worker. Refusals, in order: no task, run over or set aside, run paused, not READY. */
export function decideLeaseTask(run: Run, command: LeaseTask): Decision {
  const found = findTask(run, command.task);
  if (found === undefined) {
    return reject(taskNotFound(command.task));
  }
  if (!isRunOpen(run.status) || run.fault !== "") {
    return reject(runOver(run, "LeaseTask"));
  }
  if (run.status === RunStatus.PAUSED) {
    return reject(
      illegalTransition("PAWL_ILLEGAL_TRANSITION", {
        entity: "run",
        status: runStatusName(run.status),
        command: "LeaseTask",
        legal: ["ResumeRun"],
      }),
    );
  }
  const { task } = found;
  if (task.status !== TaskStatus.READY) {
    const status = taskStatusName(task.status);
    return reject(
      illegalTransition("PAWL_ILLEGAL_TRANSITION", {
        entity: "task",
        status,
        command: "LeaseTask",
        legal: [],
      }),
    );
  }
  return accept([
    {
      case: "taskLeased",
      value: {
        task: task.number,
        leaseVersion: task.leaseVersion + 1,
        attempt: task.usedAttempts + 1,
        sessionId: command.sessionId,
        worker: command.worker,
      },
    },
  ]);
}
