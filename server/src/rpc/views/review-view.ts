import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  type FailedAttemptSchema,
  type ReviewSchema,
  ReviewSubject,
} from "@pawl/proto/v1/review_pb.js";
import { nameOfTask } from "../../core/plan/tasks-of-run.js";
import { legalChoices } from "../../core/review-choices.js";
import type { Run, Task } from "../../core/state.js";
import { partId } from "./part-id.js";
import { timestampView } from "./payload-view.js";

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
    reviewId: partId(runNumber, number, run.incarnation),
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
