import { type Timestamp, timestampDate } from "@bufbuild/protobuf/wkt";
import { type Review, ReviewChoice, ReviewSubject } from "@pawl/proto/v1/review_pb.js";
import type { ReviewChange } from "@pawl/proto/v1/review_service_pb.js";
import { DefinitionInvalid } from "../errors.js";
import type {
  ReviewChangeInfo,
  ReviewChoiceName,
  ReviewInfo,
  ReviewResolution,
  ReviewSubjectName,
} from "../reviews.js";

const choices: Readonly<Record<ReviewChoiceName, ReviewChoice>> = {
  accept: ReviewChoice.ACCEPT,
  done: ReviewChoice.DONE,
  retry: ReviewChoice.RETRY,
  "not-done": ReviewChoice.NOT_DONE,
  abandon: ReviewChoice.ABANDON,
  skip: ReviewChoice.SKIP,
  fail: ReviewChoice.FAIL,
};

const choiceNames: ReadonlyMap<ReviewChoice, ReviewChoiceName> = new Map([
  [ReviewChoice.ACCEPT, "accept"],
  [ReviewChoice.DONE, "done"],
  [ReviewChoice.RETRY, "retry"],
  [ReviewChoice.NOT_DONE, "not-done"],
  [ReviewChoice.ABANDON, "abandon"],
  [ReviewChoice.SKIP, "skip"],
  [ReviewChoice.FAIL, "fail"],
]);

/** The choice of a word. Code without types may name anything. */
export function choiceOfName(name: ReviewChoiceName): ReviewChoice {
  if (!Object.hasOwn(choices, name)) {
    throw new DefinitionInvalid(
      `Expected choice to be one of ${Object.keys(choices).join(", ")}, but it is "${String(name)}".`,
    );
  }
  return choices[name];
}

/** A review as the SDK shows it. */
export function reviewInfo(review: Review): ReviewInfo {
  const { resolvedAt, resolvedBy: by, resolution, reason } = review;
  return {
    reviewId: review.reviewId,
    runId: review.runId,
    task: review.task,
    subject: subjectName(review.subject),
    operationKey: review.operationKey,
    known: review.known,
    // A choice that this version does not know cannot be made by it.
    choices: review.choices.flatMap((choice) => choiceNames.get(choice) ?? []),
    openedAt: dateOf(review.openedAt),
    version: review.version,
    resolution: resolvedAt && resolutionInfo({ choice: resolution, by, reason, at: resolvedAt }),
    failures: review.failures.map(({ attempt, worker, kind, message, at }) => ({
      ...{ attempt, worker, kind, message },
      at: dateOf(at),
    })),
    attempts: review.attempts,
  };
}

/** A change as the SDK shows it. */
export function changeInfo(change: ReviewChange, position: string | undefined): ReviewChangeInfo {
  const { resolution: choice, resolvedBy: by, reason, at } = change;
  return {
    reviewId: change.reviewId,
    runId: change.runId,
    task: change.task,
    subject: subjectName(change.subject),
    operationKey: change.operationKey,
    known: change.known,
    at: dateOf(at),
    resolution:
      choice === ReviewChoice.UNSPECIFIED ? undefined : resolutionInfo({ choice, by, reason, at }),
    position,
  };
}

/** An open review, as if it were opened now. */
export function openedInfo(review: ReviewInfo): ReviewChangeInfo {
  const { reviewId, runId, task, subject, operationKey, known, openedAt } = review;
  return {
    ...{ reviewId, runId, task, subject, operationKey, known },
    at: openedAt,
    resolution: undefined,
    position: undefined,
  };
}

function resolutionInfo(parts: {
  readonly choice: ReviewChoice;
  readonly by: string;
  readonly reason: string;
  readonly at: Timestamp | undefined;
}): ReviewResolution {
  const { by, reason } = parts;
  // One that this version does not know ended the matter at least.
  return { choice: choiceNames.get(parts.choice) ?? "done", by, reason, at: dateOf(parts.at) };
}

function subjectName(subject: ReviewSubject): ReviewSubjectName {
  if (subject === ReviewSubject.OPERATION) return "operation";
  return subject === ReviewSubject.TASK ? "task" : "run";
}

function dateOf(at: Timestamp | undefined): Date {
  return at === undefined ? new Date(0) : timestampDate(at);
}
