import { FailureOrigin } from "@pawl/proto/v1/failure_pb.js";
import type { FailureShape } from "@pawl/proto/v1/failure_wire.js";
import { OperationStatus } from "@pawl/proto/v1/operation_pb.js";
import { ReviewChoice, ReviewSubject } from "@pawl/proto/v1/review_pb.js";
import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import type { EventMeta, EventValue } from "../event.js";
import { mayBeCalledAgain } from "../review-choices.js";
import type { MutableReview, MutableRun, MutableTask } from "../state.js";
import { isRunOpen, isSettled } from "../transitions.js";
import { announceTasks } from "./announce-tasks.js";
import { completeByPerson, failByPerson } from "./by-person.js";
import { CorruptHistory } from "./corrupt.js";
import { settleTask } from "./dependents.js";
import type { ApplyHooks } from "./hooks.js";
import { noteReview } from "./indices.js";
import { keepBytes } from "./keep.js";
import { taskOf } from "./move-task.js";
import { announceObligations } from "./obligations.js";
import { moveOperation, operationOf } from "./operations.js";
import { forgiveAttempts } from "./trouble.js";

/** The review of this number. */
export function reviewOf(run: MutableRun, number: number): MutableReview {
  const review = run.reviews[number];
  if (review === undefined) {
    throw new CorruptHistory(
      `a review ${number} in run "${run.runId}"`,
      `it has ${run.reviews.length}`,
    );
  }
  return review;
}

/** A person is needed. */
export function applyReviewOpened(
  run: MutableRun,
  event: EventValue<"reviewOpened">,
  meta: EventMeta,
): void {
  if (event.review !== run.reviews.length) {
    throw new CorruptHistory(
      `review ${run.reviews.length} to be opened next`,
      `it is ${event.review}`,
    );
  }
  const review: MutableReview = {
    number: event.review,
    subject: event.subject,
    operation: event.operation,
    task: event.task,
    known: event.known,
    openedAtMs: meta.atMs,
    resolvedAtMs: 0,
    choice: ReviewChoice.UNSPECIFIED,
    reason: "",
    principal: "",
    result: undefined,
    version: 1,
    waitingTasks: [],
    returned: event.returned && { output: keepBytes(event.returned.output) },
    askedFingerprint: keepBytes(event.askedFingerprint),
  };
  run.reviews.push(review);
  noteReview(run, review);
  if (event.subject === ReviewSubject.OPERATION) {
    const operation = operationOf(run, event.operation);
    operation.openReview = event.review;
    moveOperation(run, operation, OperationStatus.NEEDS_REVIEW, meta);
  }
}

/** A person decided, or a late observation made the decision needless. */
export function applyReviewResolved(
  run: MutableRun,
  event: EventValue<"reviewResolved">,
  meta: EventMeta,
  hooks: ApplyHooks,
): void {
  const review = reviewOf(run, event.review);
  if (review.resolvedAtMs !== 0) {
    throw new CorruptHistory(`review ${event.review} to be open`, "it was resolved before");
  }
  review.resolvedAtMs = meta.atMs;
  review.choice = event.choice;
  review.reason = event.reason;
  review.principal = event.principal;
  review.result = keepBytes(event.result);
  review.version++;
  noteReview(run, review);
  if (review.subject === ReviewSubject.OPERATION) {
    resolveOperation(run, review, meta);
  } else if (review.subject === ReviewSubject.REUSE) {
    adoptResult(run, review);
  } else if (review.subject === ReviewSubject.RUN) {
    run.fault = "";
    run.version++;
    announceTasks(run, hooks);
    announceObligations(run, hooks);
    hooks.deadlineMoved(run);
  }
  wakeWaitingTasks(run, review, meta, hooks);
  review.returned = undefined;
}

function resolveOperation(run: MutableRun, review: MutableReview, meta: EventMeta): void {
  const operation = operationOf(run, review.operation);
  operation.openReview = undefined;
  if (isSettled(operation.status) || operation.status === OperationStatus.INTENDED) {
    return; // A late observation came first; the review is only closed.
  }
  operation.callOpen = false;
  if (review.choice === ReviewChoice.DONE) {
    operation.result = review.result;
    operation.reconciled = true;
    moveOperation(run, operation, OperationStatus.OBSERVED, meta);
  } else if (
    review.choice === ReviewChoice.RETRY ||
    (review.choice === ReviewChoice.NOT_DONE && mayBeCalledAgain(run, operation))
  ) {
    // Whoever says so allows the next call, also when the approval of the operation is over.
    operation.retryAllowed = operation.proposal !== undefined;
    moveOperation(run, operation, OperationStatus.INTENDED, meta);
  } else {
    operation.failure = abandonedBy(review);
    operation.reconciled = true;
    moveOperation(run, operation, OperationStatus.ABANDONED, meta);
  }
}

/** What the operation came to stands for what is asked now, too. */
function adoptResult(run: MutableRun, review: MutableReview): void {
  if (review.choice === ReviewChoice.ACCEPT && review.askedFingerprint !== undefined) {
    const operation = operationOf(run, review.operation);
    operation.adoptedFingerprint = review.askedFingerprint;
    operation.version++;
  }
}

function abandonedBy(review: MutableReview): FailureShape {
  return {
    kind: "OperationAbandoned",
    code: "PAWL_OPERATION_ABANDONED",
    message: review.reason,
    stack: "",
    retryable: false,
    origin: FailureOrigin.PERSON,
  };
}

function wakeWaitingTasks(
  run: MutableRun,
  review: MutableReview,
  meta: EventMeta,
  hooks: ApplyHooks,
): void {
  const waiting = review.waitingTasks;
  review.waitingTasks = [];
  for (const number of waiting) {
    const task = taskOf(run, number);
    if (task.status !== TaskStatus.NEEDS_REVIEW || !isRunOpen(run.status)) {
      continue;
    }
    if (review.subject === ReviewSubject.TASK) {
      resolveTask(run, task, review, { meta, hooks });
    } else if (review.choice === ReviewChoice.FAIL) {
      task.failure = abandonedBy(review);
      task.endedByPerson = true;
      settleTask(run, task, TaskStatus.FAILED, { meta, hooks });
    } else {
      settleTask(run, task, TaskStatus.READY, { meta, hooks });
    }
  }
}

/** What a person decided about a task of which no further attempt was made by itself. */
function resolveTask(
  run: MutableRun,
  task: MutableTask,
  review: MutableReview,
  parts: { readonly meta: EventMeta; readonly hooks: ApplyHooks },
): void {
  switch (review.choice) {
    case ReviewChoice.RETRY:
      forgiveAttempts(task);
      settleTask(run, task, TaskStatus.READY, parts);
      break;
    case ReviewChoice.ACCEPT:
      completeByPerson(run, task, review.returned?.output, parts);
      break;
    case ReviewChoice.DONE:
    case ReviewChoice.SKIP:
      completeByPerson(run, task, review.result, parts);
      break;
    default:
      failByPerson(run, task, review.reason, parts);
  }
}
