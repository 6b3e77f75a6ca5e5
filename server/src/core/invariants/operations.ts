import { OperationStatus, SinkKind } from "@pawl/proto/v1/operation_pb.js";
import { ReviewChoice, ReviewSubject } from "@pawl/proto/v1/review_pb.js";
import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import type { Operation, Review, Run } from "../state.js";
import { isSettled, operationStatusName, taskStatusName } from "../transitions.js";
import { breaches, type Rule, type Violation } from "./violation.js";

/** Violations of operations, of the set of unsettled ones, and of the index of keys. */
export function findOperationViolations(run: Run): Violation[] {
  const unsettled = run.operations.filter((operation) => !isSettled(operation.status)).length;
  return [
    ...breaches("run", [
      [
        run.operationsByKey.size === run.operations.length,
        `${run.operations.length} keys`,
        `${run.operationsByKey.size}`,
      ],
      [
        run.unsettled.size === unsettled,
        `${unsettled} unsettled operations`,
        `${run.unsettled.size}`,
      ],
    ]),
    ...run.operations.flatMap((operation, number) =>
      breaches(`operation ${number}`, [
        [operation.number === number, `number ${number}`, `${operation.number}`],
        [
          run.operationsByKey.get(operation.declaration.key) === number,
          "its number under its key",
          operation.declaration.key,
        ],
        ...rulesOfSettling(run, operation),
        ...rulesOfCall(run, operation),
      ]),
    ),
  ];
}

function rulesOfSettling(run: Run, operation: Operation): Rule[] {
  const status = operationStatusName(operation.status);
  const isOver = isSettled(operation.status);
  const isNo =
    operation.status === OperationStatus.REFUSED || operation.status === OperationStatus.ABANDONED;
  return [
    [
      isOver !== run.unsettled.has(operation.number),
      "among the unsettled exactly while it is",
      status,
    ],
    [
      isOver === (operation.settledAtMs !== 0),
      "settledAtMs exactly when it is settled",
      `${operation.settledAtMs}`,
    ],
    [
      operation.status !== OperationStatus.OBSERVED || operation.failure === undefined,
      "no failure when OBSERVED",
      "there is one",
    ],
    [
      !isNo || operation.failure !== undefined,
      "a failure when the answer is no",
      `none, but ${status}`,
    ],
    [
      operation.result === undefined || operation.status === OperationStatus.OBSERVED,
      "a result only when OBSERVED",
      status,
    ],
    [
      isOver || operation.settledIntentId === "",
      "no settling call before it is settled",
      operation.settledIntentId,
    ],
    [
      isOver === (operation.settledEvent !== 0) && operation.settledEvent <= run.eventCount,
      "the event that settled it exactly when it is settled",
      `${operation.settledEvent} of ${run.eventCount}`,
    ],
    [
      operation.settledSeenThrough === undefined ||
        (isOver && (isReused(run) || (operation.settledIntentId !== "" && !operation.reconciled))),
      "the place of an outcome only when its call's own code told of it",
      `${operation.settledSeenThrough}`,
    ],
    [isOver || !operation.reconciled, "reconciled only when it is settled", status],
  ];
}

/** True when a later generation may have been given the outcome, whoever told of it. */
function isReused({ rewinds }: Run): boolean {
  return rewinds.length > 0;
}

function rulesOfCall(run: Run, operation: Operation): Rule[] {
  const { declaration } = operation;
  const isIdempotent = declaration.sinkKind === SinkKind.IDEMPOTENT;
  const isHeld =
    run.kind === "ledger" ||
    !operation.callOpen ||
    operation.status !== OperationStatus.INTENDED ||
    holdsCall(run, operation);
  const needsReview = operation.status === OperationStatus.NEEDS_REVIEW;
  return [
    [
      operation.version >= operation.calls && operation.calls > 0,
      "a version for each call",
      `${operation.version}, ${operation.calls}`,
    ],
    [
      !isSettled(operation.status) || !operation.callOpen,
      "no open call when it is settled",
      "one is open",
    ],
    [
      isHeld,
      "an open call only under a lease that holds",
      taskStatusName(run.tasks[operation.task]?.status ?? TaskStatus.UNSPECIFIED),
    ],
    [
      operation.intendedAtMs >= operation.firstIntendedAtMs,
      "intended again after the first time",
      `${operation.intendedAtMs}`,
    ],
    [
      operation.callByMs >= operation.intendedAtMs,
      "call_by after the intent",
      `${operation.callByMs}`,
    ],
    [
      isIdempotent === (declaration.keyWindowEndsMs !== 0),
      "a key window exactly for an idempotent sink",
      `${declaration.keyWindowEndsMs}`,
    ],
    [
      !needsReview || operation.openReview !== undefined,
      "an open review in NEEDS_REVIEW",
      `${operation.openReview}`,
    ],
    [isOpenAbout(run, operation), "its review to be open and about it", `${operation.openReview}`],
  ];
}

function holdsCall(run: Run, operation: Operation): boolean {
  const task = run.tasks[operation.task];
  return task?.status === TaskStatus.LEASED && task.leaseVersion === operation.leaseVersion;
}

function isOpenAbout(run: Run, operation: Operation): boolean {
  if (operation.openReview === undefined) {
    return true;
  }
  const review = run.reviews[operation.openReview];
  return (
    review?.resolvedAtMs === 0 &&
    review.subject === ReviewSubject.OPERATION &&
    review.operation === operation.number
  );
}

/** Violations of reviews. */
export function findReviewViolations(run: Run): Violation[] {
  return run.reviews.flatMap((review, number) =>
    breaches(`review ${number}`, [
      [review.number === number, `number ${number}`, `${review.number}`],
      ...rulesOfReview(run, review),
    ]),
  );
}

function rulesOfReview(run: Run, review: Review): Rule[] {
  const isOpen = review.resolvedAtMs === 0;
  const isAboutOperation = review.subject === ReviewSubject.OPERATION;
  return [
    [
      isOpen === (review.choice === ReviewChoice.UNSPECIFIED),
      "a choice exactly when it is resolved",
      `${review.choice}`,
    ],
    [review.version === (isOpen ? 1 : 2), "version 1 while open, then 2", `${review.version}`],
    [
      isOpen || review.waitingTasks.length === 0,
      "nobody waiting for a resolved review",
      `${review.waitingTasks}`,
    ],
    [
      !isAboutOperation ||
        !isOpen ||
        run.operations[review.operation]?.openReview === review.number,
      "its operation to name it while it is open",
      `operation ${review.operation}`,
    ],
    [
      review.waitingTasks.every((number) => run.tasks[number] !== undefined),
      "waiting tasks of the run",
      `${review.waitingTasks}`,
    ],
  ];
}
