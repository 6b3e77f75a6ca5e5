import { OperationStatus } from "@pawl/proto/v1/operation_pb.js";
import { ReviewSubject } from "@pawl/proto/v1/review_pb.js";
import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { findByTaskViolations } from "./invariants/by-task.js";
import { findCallViolations, findLeftCalls } from "./invariants/calls.js";
import { findIncarnationViolations } from "./invariants/incarnations.js";
import { findMessageViolations, findUnfinishedMessages } from "./invariants/messages.js";
import { findObligationViolations, findUnheardAnswers } from "./invariants/obligations.js";
import { findOperationViolations, findReviewViolations } from "./invariants/operations.js";
import { findNeedlessProposals, findProposalViolations } from "./invariants/proposals.js";
import {
  findPublicationViolations,
  findStepViolations,
  findTaskViolations,
} from "./invariants/tasks.js";
import { findVersionViolations } from "./invariants/versions.js";
import { breaches, type Violation, violation } from "./invariants/violation.js";
import { findWaitViolations } from "./invariants/waits.js";
import { isRollingBack } from "./is-rolling-back.js";
import type { Run } from "./state.js";
import { isFinal, isRunOpen, isTaskClosed, runTransitions } from "./transitions.js";

export type { Violation } from "./invariants/violation.js";

/**
 * Everything that is wrong with a state: what holds after every event. Empty when nothing is. Takes time in proportion to
 * the state, so it is for tests, the simulator and `pawl verify`, not for the hot path.
 */
export function findViolations(run: Run): readonly Violation[] {
  return [
    ...findRunViolations(run),
    ...findIncarnationViolations(run),
    ...findTaskViolations(run),
    ...findCallViolations(run),
    ...findByTaskViolations(run),
    ...findStepViolations(run),
    ...findPublicationViolations(run),
    ...findOperationViolations(run),
    ...findReviewViolations(run),
    ...findWaitViolations(run),
    ...findProposalViolations(run),
    ...findMessageViolations(run),
    ...findObligationViolations(run),
    ...findVersionViolations(run),
  ];
}

/**
 * What is left to be done although every command was followed up (`decideFollowUp`): an open run without open tasks, an
 * ended one whose unknown outcome nobody was asked about, or a review that nobody needs. Empty between commands.
 */
export function findUnfinished(run: Run): readonly Violation[] {
  const needless = run.operations
    .filter(
      (operation) =>
        operation.openReview !== undefined && operation.status !== OperationStatus.NEEDS_REVIEW,
    )
    .map(({ number }) =>
      violation(`operation ${number}`, "no review, since it needs none", "one is open"),
    );
  const moot = run.reviews
    .filter(
      ({ subject, resolvedAtMs, task }) =>
        subject === ReviewSubject.TASK &&
        resolvedAtMs === 0 &&
        run.tasks[task]?.status !== TaskStatus.NEEDS_REVIEW,
    )
    .map(({ number }) => violation(`review ${number}`, "a task that waits for it", "it does not"));
  return [
    ...needless,
    ...moot,
    ...findLeftCalls(run),
    ...findUnfinishedMessages(run),
    ...findUnheardAnswers(run),
    ...findNeedlessProposals(run),
    ...findUnfinishedRun(run),
  ];
}

function findUnfinishedRun(run: Run): readonly Violation[] {
  if (run.kind === "ledger") {
    return [];
  }
  if (isRunOpen(run.status) && run.openTasks === 0) {
    return [violation("run", "an open task in an open run", "there is none")];
  }
  return [...run.unsettled]
    .filter((number) => isUnasked(run, number))
    .map((number) =>
      violation(
        `operation ${number}`,
        "a review, since its task is over",
        "it is in doubt without one",
      ),
    );
}

function isUnasked(run: Run, number: number): boolean {
  const operation = run.operations[number];
  const task = run.tasks[operation?.task ?? -1];
  if (operation === undefined || operation.openReview !== undefined) {
    return false;
  }
  const isLeft = task !== undefined && isTaskClosed(task.status) && !isRollingBack(run, task);
  const isOver = !isRunOpen(run.status) || isLeft;
  return isOver && (operation.status !== OperationStatus.INTENDED || operation.callOpen);
}

function findRunViolations(run: Run): readonly Violation[] {
  const isOver = isFinal(runTransitions, run.status);
  const isLedger = run.kind === "ledger";
  const { closedAtMs, operations } = run;
  return breaches("run", [
    [run.eventCount >= 1, "at least one event", `${run.eventCount}`],
    [run.version >= 1, "version 1 or more", `${run.version}`],
    [run.incarnation >= 1, "incarnation 1 or more", `${run.incarnation}`],
    [isOver === (closedAtMs !== 0), "closedAtMs exactly when it is over", `${closedAtMs}`],
    [closedAtMs === 0 || closedAtMs >= run.startedAtMs, "an end after the start", `${closedAtMs}`],
    [!isOver || run.openTasks === 0, "no open task in a run that is over", `${run.openTasks}`],
    [(run.runId === "") === isLedger, "a run id exactly in a run", `${run.kind} "${run.runId}"`],
    [
      !isLedger || run.tasks.length + run.steps.length === 0,
      "no task and no step in a ledger",
      "some",
    ],
    [
      !isLedger || (operations.length <= 1 && operations.length + run.proposals.length >= 1),
      "one operation or its proposal in a ledger",
      `${operations.length} operations, ${run.proposals.length} proposals`,
    ],
  ]);
}
