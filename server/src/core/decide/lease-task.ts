import { RunStatus, TaskStatus } from "@pawl/proto/v1/run_pb.js";
import type { LeaseTask } from "../command.js";
import { accept, type Decision, reject } from "../decision.js";
import { followsCurrent } from "../plan/code-version.js";
import { illegalTransition } from "../rejection.js";
import type { Run } from "../state.js";
import { isRunOpen, runStatusName, taskStatusName } from "../transitions.js";
import { noCurrentVersion } from "./choose-version.js";
import { findTask, runOver, taskNotFound } from "./find.js";

/** Gives a READY task to a worker. Refusals, in order: no task, run over or set aside, run paused, not READY, no current version to follow. */
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
  const { codeVersion = 0 } = command;
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
  if (codeVersion === 0 && run.codeVersion !== undefined && followsCurrent(run, found.spec)) {
    return reject(noCurrentVersion(run.workflow)); // Nobody serves it, so nobody should have asked.
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
        codeVersion,
      },
    },
  ]);
}
