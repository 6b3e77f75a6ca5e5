import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  type FailedAttemptSchema,
  type ReviewSchema,
  ReviewSubject,
} from "@pawl/proto/v1/review_pb.js";
import { nameOfTask } from "../../core/plan/tasks-of-run.js";
import { legalChoices } from "../../core/review-choices.js";
import type { Review, Run, Task } from "../../core/state.js";
import { isTaskClosed } from "../../core/transitions.js";
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
  const isReuse = review.subject === ReviewSubject.REUSE;
  const isAboutOperation = isReuse || review.subject === ReviewSubject.OPERATION;
  const isAboutTask = review.subject === ReviewSubject.TASK;
  const [waiting] = isAboutTask ? [review.task] : waitingFor(run, review);
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

/** A task that goes on beside a review of its operation waits for it as well, once it has nothing else to do. */
function waitingFor(run: Run, review: Review): readonly number[] {
  const task = run.tasks[review.task];
  const isBeside = run.kind === "run" && task !== undefined && !isTaskClosed(task.status);
  return review.resolvedAtMs === 0 && isBeside && review.waitingTasks.length === 0
    ? [review.task]
    : review.waitingTasks;
}

function failuresOf({ trouble }: Task): MessageInitShape<typeof FailedAttemptSchema>[] {
  return (trouble?.failures ?? []).map(({ attempt, worker, kind, message, atMs }) => ({
    ...{ attempt, worker, kind, message },
    at: timestampFromMs(atMs),
  }));
}
