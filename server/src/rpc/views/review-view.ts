import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  type FailedAttemptSchema,
  type ReviewSchema,
  ReviewSubject,
} from "@pawl/proto/v1/review_pb.js";
import { nameOfTask } from "../../core/plan/tasks-of-run.js";
import { notFound } from "../../core/rejection.js";
import { legalChoices } from "../../core/review-choices.js";
import type { Run, Task } from "../../core/state.js";
import { RejectionError } from "../../kernel/outcome.js";
import { requireText } from "../validate/fields.js";
import { timestampView } from "./payload-view.js";

/**
 * Id of a review: the number of its run in the store, its own number in the run, and, from the second on, the incarnation of the run, since
 * numbers begin anew with each: a decision about one incarnation never reaches another.
 */
export function reviewId(runNumber: number, review: number, incarnation: number): string {
  return `${runNumber}-${review}${incarnation === 1 ? "" : `-${incarnation}`}`;
}

/** The numbers in an id of a review. */
export interface ReviewNumbers {
  readonly runNumber: number;
  readonly review: number;
  readonly incarnation: number;
}

/**
 * Reads an id of a review.
 *
 * @throws RejectionError PAWL_INVALID_FIELD when it is empty or overlong, PAWL_REVIEW_NOT_FOUND when no review can have it.
 */
export function parseReviewId(id: string): ReviewNumbers {
  requireText(id, "review_id", { min: 1, max: 200 });
  const parts = /^([0-9]{1,15})-([0-9]{1,9})(?:-([1-9][0-9]{0,8}))?$/.exec(id);
  if (parts === null || parts[3] === "1") {
    throw new RejectionError(notFound("review", id));
  }
  const [, run, review, incarnation = "1"] = parts;
  return { runNumber: Number(run), review: Number(review), incarnation: Number(incarnation) };
}

/** `pawl.v1.Review` of a review's state; undefined when the aggregate has no such review. */
export function reviewView(
  run: Run,
  number: number,
  runNumber: number,
): MessageInitShape<typeof ReviewSchema> | undefined {
  const review = run.reviews[number];
  if (review === undefined) {
    return undefined;
  }
  const openedAt = timestampView(review.openedAtMs);
  const resolvedAt = timestampView(review.resolvedAtMs);
  const isAboutOperation = review.subject === ReviewSubject.OPERATION;
  const isAboutTask = review.subject === ReviewSubject.TASK;
  const [waiting] = isAboutTask ? [review.task] : review.waitingTasks;
  const task = waiting === undefined ? undefined : run.tasks[waiting];
  return {
    reviewId: reviewId(runNumber, number, run.incarnation),
    namespace: run.namespace,
    runId: run.kind === "ledger" ? "" : run.runId,
    task: waiting === undefined ? "" : nameOfTask(run, waiting),
    subject: review.subject,
    operationKey: isAboutOperation ? (run.operations[review.operation]?.declaration.key ?? "") : "",
    known: review.known,
    choices: legalChoices(run, review),
    version: review.version,
    resolution: review.choice,
    resolvedBy: review.principal,
    reason: review.reason,
    ...(isAboutTask && task !== undefined
      ? { failures: failuresOf(task), attempts: task.usedAttempts }
      : {}),
    ...(openedAt === undefined ? {} : { openedAt }),
    ...(resolvedAt === undefined ? {} : { resolvedAt }),
  };
}

function failuresOf({ trouble }: Task): MessageInitShape<typeof FailedAttemptSchema>[] {
  return (trouble?.failures ?? []).map(({ attempt, worker, kind, message, atMs }) => ({
    ...{ attempt, worker, kind, message },
    at: timestampFromMs(atMs),
  }));
}
