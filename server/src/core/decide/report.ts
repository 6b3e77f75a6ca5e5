import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import type { CompleteTask, ConfirmCancel, FailTask } from "../command.js";
import type { DecideContext } from "../context.js";
import { wasContinuedBy } from "../continued.js";
import { accept, acceptExisting, type Decision, reject } from "../decision.js";
import type { EventBody } from "../event.js";
import { equalBytes } from "../identity/content-digest.js";
import { holds, leaseLost, mustStop } from "../lease-standing.js";
import { isEffectOpen } from "../open-effects.js";
import { fingerprintConflict, illegalTransition, type Rejection } from "../rejection.js";
import { decideRetry } from "../retry.js";
import type { Run, Task } from "../state.js";
import { operationStatusName } from "../transitions.js";
import { holdReturn, openMisfitReview } from "./code-reviews.js";
import { doubtOpenCalls } from "./doubts.js";
import { findLeased, taskNotFound } from "./find.js";
import { kernelFailure } from "./kernel-failure.js";
import { isSuperseded, refuseLate, reportOf } from "./late-report.js";
import { openTaskReview } from "./open-review.js";

/**
 * Completes a task. Refusals, in order: no task, other output than the one accepted from this lease, lease lost,
 * operations of the task that are not settled. The same completion again is answered `existing`.
 */
export function decideCompleteTask(run: Run, command: CompleteTask, ctx: DecideContext): Decision {
  const found = findLeased(run, command.task, command.leaseVersion);
  if (found === undefined) {
    return reject(taskNotFound(command.task));
  }
  const { task } = found;
  if (isSuperseded(task)) {
    return refuseLate(task, command.leaseVersion, reportOf("output", command.output));
  }
  if (!holds(task, command.leaseVersion)) {
    return repeatedReport(run, task, command.leaseVersion, () =>
      isRepeated(task, command)
        ? undefined
        : otherReport(task.output, found.spec.name, command.output, ctx),
    );
  }
  const unsettled = findUnsettled(run, task);
  if (unsettled !== undefined) {
    return reject(unsettled);
  }
  if (isUndone(run, task)) {
    return accept(cancelTask(run, task, stopFailure(run)));
  }
  // Nobody wants to know of what was asked to stop.
  const unvisited = mustStop(run, task) ? [] : (command.unvisited ?? []);
  if (unvisited.length > 0) {
    return accept(holdReturn(run, found, command.output, unvisited));
  }
  return accept([
    {
      case: "taskCompleted",
      value: {
        task: task.number,
        leaseVersion: command.leaseVersion,
        output: command.output,
        attempt: task.attempt,
      },
    },
  ]);
}

/** True when this completion was accepted from this lease: with this output, or held for a person, or undone. */
function isRepeated(task: Task, { output, unvisited = [] }: CompleteTask): boolean {
  switch (task.status) {
    case TaskStatus.COMPLETED:
      return isCompletedByReport(task) ? sameContent(task.output, output) : unvisited.length > 0;
    case TaskStatus.CANCELLED:
      return unvisited.length > 0 || (task.caller === undefined && task.rollback !== undefined);
    default:
      return unvisited.length > 0;
  }
}

/** False for one whose attempt ended otherwise before a person completed the task: what was reported then stays what it was. */
function isCompletedByReport({ status, endedByPerson }: Task): boolean {
  return status === TaskStatus.COMPLETED && !endedByPerson;
}

/** True for the return of a function that recorded how to undo what it did, in a run that is to stop: the run does not end as if it were done, so nothing of it stays. */
function isUndone(run: Run, task: Task): boolean {
  return run.cancelRequestedAtMs !== 0 && task.caller === undefined && task.rollback === "declared";
}

/** Why an attempt of a run that is to stop counts for nothing. */
export function stopFailure(run: Run): ConfirmCancel["failure"] {
  return kernelFailure("Cancelled", "PAWL_RUN_CANCELLED", run.cancelReason, false);
}

/**
 * Records a failed attempt. Refusals, in order: no task, a completion accepted from this lease, lease lost. A failure
 * report from a lease whose failure was accepted is answered `existing`.
 */
export function decideFailTask(run: Run, command: FailTask, ctx: DecideContext): Decision {
  const found = findLeased(run, command.task, command.leaseVersion);
  if (found === undefined) {
    return reject(taskNotFound(command.task));
  }
  const { task } = found;
  if (isSuperseded(task)) {
    return refuseLate(task, command.leaseVersion, reportOf("failure", command.failure));
  }
  if (!holds(task, command.leaseVersion)) {
    return repeatedReport(run, task, command.leaseVersion, () =>
      isCompletedByReport(task) || wasContinuedBy(run, task, command.leaseVersion)
        ? otherReport(task.output, found.spec.name, undefined, ctx)
        : undefined,
    );
  }
  if (mustStop(run, task)) {
    return accept(cancelTask(run, task, command.failure));
  }
  const { retryAfterMs } = command;
  const { next, readyAtMs } =
    command.forReview === true
      ? { next: TaskStatus.NEEDS_REVIEW, readyAtMs: 0 }
      : decideRetry(found, command.failure, ctx, { retryAfterMs });
  const events = doubtOpenCalls(run, task.number, task.leaseVersion);
  const asks = next === TaskStatus.NEEDS_REVIEW;
  if (asks) {
    events.push(
      command.forReview === true
        ? openMisfitReview(run, found, command.failure)
        : openTaskReview(run, found, command.failure, 0),
    );
  }
  events.push({
    case: "attemptFailed",
    value: {
      task: task.number,
      leaseVersion: command.leaseVersion,
      failure: command.failure,
      progress: command.progress,
      attempt: task.attempt,
      review: asks ? run.reviews.length : 0,
      next,
      readyAtMs,
    },
  });
  return accept(events);
}

/**
 * Records that an attempt stopped because its run was asked to. Refusals, in order: no task, a completion accepted from
 * this lease, lease lost, nobody asked. The same report again is answered `existing`.
 */
export function decideConfirmCancel(
  run: Run,
  command: ConfirmCancel,
  ctx: DecideContext,
): Decision {
  const found = findLeased(run, command.task, command.leaseVersion);
  if (found === undefined) {
    return reject(taskNotFound(command.task));
  }
  const { task } = found;
  if (isSuperseded(task)) {
    return refuseLate(task, command.leaseVersion, reportOf("failure", command.failure));
  }
  if (!holds(task, command.leaseVersion)) {
    return repeatedReport(run, task, command.leaseVersion, () =>
      isCompletedByReport(task) || wasContinuedBy(run, task, command.leaseVersion)
        ? otherReport(task.output, found.spec.name, undefined, ctx)
        : undefined,
    );
  }
  if (!mustStop(run, task)) {
    return reject(
      illegalTransition("PAWL_ILLEGAL_TRANSITION", {
        entity: "task",
        status: "LEASED",
        command: "report cancelled",
        legal: ["report output", "report failure", "release"],
      }),
    );
  }
  return accept(cancelTask(run, task, command.failure));
}

/** The attempt stopped because its run was asked to. */
export function cancelTask(run: Run, task: Task, failure: ConfirmCancel["failure"]): EventBody[] {
  return [
    ...doubtOpenCalls(run, task.number, task.leaseVersion),
    {
      case: "taskCancelled",
      value: {
        task: task.number,
        leaseVersion: task.leaseVersion,
        failure,
        attempt: task.attempt,
      },
    },
  ];
}

/** A report whose lease is over: the accepted one again is fine, another one is a conflict, a stale one has lost its lease. */
function repeatedReport(
  run: Run,
  task: Task,
  leaseVersion: number,
  compare: () => Rejection | undefined,
): Decision {
  // No lease has version 0, which stands for "nothing reported".
  const isReported =
    (leaseVersion !== 0 && task.reportedLeaseVersion === leaseVersion) ||
    wasContinuedBy(run, task, leaseVersion);
  if (!isReported) {
    return reject(leaseLost(task, leaseVersion));
  }
  const conflict = compare();
  return conflict === undefined ? acceptExisting() : reject(conflict);
}

/** True for the same content, or twice none. */
export function sameContent(left: Uint8Array | undefined, right: Uint8Array | undefined): boolean {
  return left === undefined || right === undefined ? left === right : equalBytes(left, right);
}

/** Refusal of a report that says something else than the one that was accepted from this lease. */
export function otherReport(
  accepted: Uint8Array | undefined,
  name: string,
  output: Uint8Array | undefined,
  ctx: DecideContext,
): Rejection {
  const none = new Uint8Array(0);
  return fingerprintConflict({
    entity: "report",
    id: name,
    recorded: ctx.sha256(accepted ?? none),
    received: ctx.sha256(output ?? none),
    differs: "output",
  });
}

/** What rolls back is not done while something that it undoes is unsettled either. */
function findUnsettled(run: Run, task: Task): Rejection | undefined {
  const undone = task.rollsBack === undefined ? undefined : run.tasks[task.rollsBack];
  return unsettledOf(run, task) ?? (undone === undefined ? undefined : unsettledOf(run, undone));
}

function unsettledOf(run: Run, task: Task): Rejection | undefined {
  for (const number of task.unsettled) {
    const operation = run.operations[number];
    if (operation === undefined || !isEffectOpen(operation)) {
      continue;
    }
    const status = operationStatusName(operation.status);
    return illegalTransition(
      "PAWL_OPERATIONS_UNSETTLED",
      {
        entity: "operation",
        status,
        command: "complete the task",
        legal: ["observe", "reconcile"],
      },
      `Expected every operation of the task to be settled, but "${operation.declaration.key}" is ${status}. ` +
        "Next: observe or reconcile it first, or report a failure.",
    );
  }
  return undefined;
}
