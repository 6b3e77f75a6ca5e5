import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import type { ContinueRun } from "../command.js";
import type { DecideContext } from "../context.js";
import { wasContinuedBy } from "../continued.js";
import { accept, acceptExisting, type Decision, reject } from "../decision.js";
import type { EventBody } from "../event.js";
import { holds, leaseLost, mustStop } from "../lease-standing.js";
import { endsWithCaller } from "../left-calls.js";
import { findOpenEffect } from "../open-effects.js";
import { nameOfTask } from "../plan/tasks-of-run.js";
import { illegalTransition, type Rejection } from "../rejection.js";
import { wasSeen } from "../seen-waits.js";
import type { Run, Task } from "../state.js";
import {
  isTaskClosed,
  operationStatusName,
  proposalStatusName,
  taskStatusName,
} from "../transitions.js";
import { cancelCalls } from "./call-tasks.js";
import { findTask, taskNotFound } from "./find.js";
import { cancelTask, otherReport, sameContent, stopFailure } from "./report.js";

/**
 * Ends the attempt of a run's function and begins the run's next incarnation, in one commit. Nothing may be left that the next one could not see to. Refusals, in order: no
 * task, another report of this lease, lease lost, not the one task of the run's plan, operations unsettled, proposals open, an update in
 * hand, rollbacks recorded. The same again is answered `existing`. In a run that was asked to stop it is a cancelled attempt.
 */
export function decideContinueRun(run: Run, command: ContinueRun, ctx: DecideContext): Decision {
  const found = findTask(run, command.task);
  if (found === undefined) {
    return reject(taskNotFound(command.task));
  }
  const { task } = found;
  const { leaseVersion, input } = command;
  if (!holds(task, leaseVersion)) {
    if (task.status === TaskStatus.CANCELLED && task.reportedLeaseVersion === leaseVersion) {
      return acceptExisting(); // It was taken for a cancelled attempt.
    }
    if (!wasContinuedBy(run, task, leaseVersion)) {
      return reject(leaseLost(task, leaseVersion));
    }
    return sameContent(run.input, input)
      ? acceptExisting()
      : reject(otherReport(run.input, found.spec.name, input, ctx));
  }
  if (mustStop(run, task)) {
    return accept(cancelTask(run, task, stopFailure(run)));
  }
  const refusal = refuseContinuing(run, task, command);
  if (refusal !== undefined) {
    return reject(refusal);
  }
  const continued: EventBody = {
    case: "runContinued",
    value: {
      incarnation: run.incarnation + 1,
      task: task.number,
      leaseVersion,
      attempt: task.attempt,
      input,
      seenThrough: command.seenThrough,
    },
  };
  const ended = run.tasks.flatMap((caller) =>
    cancelCalls(run, caller, [...(caller.calls?.open ?? [])], { principal: "" }),
  );
  return accept([...ended, continued]);
}

function refuseContinuing(run: Run, task: Task, command: ContinueRun): Rejection | undefined {
  return (
    refuseOtherTask(run, task) ??
    refuseUnsettled(run) ??
    refuseProposals(run) ??
    refuseUpdates(run, task, command) ??
    refuseRollbacks(run, task) ??
    refuseLeftCalls(run)
  );
}

/** What was let go goes on to its end, and what was asked to stop has its grace; both with numbers that the next incarnation gives to others. */
function refuseLeftCalls(run: Run): Rejection | undefined {
  const left = run.tasks.find(
    (task) => task.caller !== undefined && !isTaskClosed(task.status) && !endsWithCaller(task),
  );
  if (left === undefined) {
    return undefined;
  }
  const what = left.abandoned ? "was let go and goes on" : "was asked to stop and has not yet";
  return illegalTransition(
    "PAWL_ILLEGAL_TRANSITION",
    {
      entity: "task",
      status: taskStatusName(left.status),
      command: "continue as new",
      legal: ["await it"],
    },
    `Expected every called task of run "${run.runId}" to have ended or to end with its caller when it continues as new, but "${nameOfTask(run, left.number)}" ${what}. Next: await it, then continue.`,
  );
}

/** Only one whose end is the end of its run: what else the run did would be left half-way. */
function refuseOtherTask(run: Run, { number }: Task): Rejection | undefined {
  return run.plan.tasks[0]?.number === number && run.plan.tasks.length === 1
    ? undefined
    : illegalTransition(
        "PAWL_ILLEGAL_TRANSITION",
        {
          entity: "task",
          status: "LEASED",
          command: "continue as new",
          legal: ["report output", "report failure", "release"],
        },
        `Expected the one task of the plan of run "${run.runId}" to continue it as new, but it is task "${nameOfTask(run, number)}". Next: return from it; only a run's own function continues the run.`,
      );
}

const legal = ["report failure", "release"];

function refuseUnsettled(run: Run): Rejection | undefined {
  const number = findOpenEffect(run);
  const operation = number === undefined ? undefined : run.operations[number];
  if (operation === undefined) {
    return undefined;
  }
  const status = operationStatusName(operation.status);
  const { key } = operation.declaration;
  return illegalTransition(
    "PAWL_OPERATIONS_UNSETTLED",
    { entity: "operation", status, command: "continue as new", legal: ["observe", "reconcile"] },
    `Expected every operation of run "${run.runId}" to be settled before it continues as new, but "${key}" is ${status}. Next: observe or reconcile it, or await what performs it, then continue.`,
  );
}

function refuseProposals(run: Run): Rejection | undefined {
  const [number] = run.openProposals;
  const proposal = number === undefined ? undefined : run.proposals[number];
  if (proposal === undefined) {
    return undefined;
  }
  const status = proposalStatusName(proposal.status);
  return illegalTransition(
    "PAWL_PROPOSALS_OPEN",
    { entity: "proposal", status, command: "continue as new", legal },
    `Expected no open proposal of run "${run.runId}" when it continues as new, but the one of "${proposal.declaration.name}" is ${status}. Next: wait for its decision and perform it, or withdraw or revoke it, then continue.`,
  );
}

/** Whoever sent it waits for an answer, and the next incarnation is not given it again. */
function refuseUpdates(run: Run, task: Task, { seenThrough }: ContinueRun): Rejection | undefined {
  const taken = run.signals.find(
    ({ update, takenBy, answer }) =>
      update &&
      answer === undefined &&
      typeof takenBy === "number" &&
      run.waits[takenBy]?.task === task.number &&
      wasSeen(run, takenBy, seenThrough),
  );
  return taken === undefined
    ? undefined
    : illegalTransition(
        "PAWL_ILLEGAL_TRANSITION",
        { entity: "update", status: "taken", command: "continue as new", legal: ["answer it"] },
        `Expected every update that run "${run.runId}" took to be answered when it continues as new, but "${taken.requestId}" of "${taken.name}" is not. Next: accept or refuse it, then continue.`,
      );
}

/** The next incarnation has no records of it, and its code would never say again what the operations are. */
function refuseRollbacks(run: Run, task: Task): Rejection | undefined {
  const holder = run.tasks.find(
    ({ number, status, rollback, rollsBack }) =>
      (rollback === "declared" && (number === task.number || !isTaskClosed(status))) ||
      (rollsBack !== undefined && !isTaskClosed(status)),
  );
  if (holder === undefined) {
    return undefined;
  }
  const name = nameOfTask(run, holder.rollsBack ?? holder.number);
  return illegalTransition(
    "PAWL_ROLLBACKS_RECORDED",
    { entity: "task", status: "LEASED", command: "continue as new", legal },
    holder.rollsBack === undefined
      ? `Expected no rollback in run "${run.runId}" when it continues as new, but task "${name}" recorded how to undo what it did, and the next incarnation could not. Next: do what may have to be undone in a child run or in a workflow that is called, await it, then continue.`
      : `Expected no rollback in run "${run.runId}" when it continues as new, but what task "${name}" did is being undone. Next: wait until that is over, then continue.`,
  );
}
