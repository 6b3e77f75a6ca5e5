import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { FailureSchema } from "@pawl/proto/v1/failure_pb.js";
import { type HistoryEvent, HistoryEventSchema } from "@pawl/proto/v1/history_pb.js";
import {
  type Review,
  ReviewChoice,
  ReviewSchema,
  ReviewSubject,
} from "@pawl/proto/v1/review_pb.js";
import {
  type Run,
  RunSchema,
  RunStatus,
  type Task,
  TaskSchema,
  TaskStatus,
} from "@pawl/proto/v1/run_pb.js";
import { NOW_MS } from "./run-cli.js";

/** A run that was started 65 s ago. */
export function sampleRun(changes: Partial<Run> = {}): Run {
  const sample = create(RunSchema, {
    namespace: "default",
    runId: "order-7",
    incarnation: 1,
    workflow: "refund",
    status: RunStatus.RUNNING,
    version: 3,
    planVersion: 1,
    startedAt: timestampFromMs(NOW_MS - 65_000),
    taskCounts: [
      { status: TaskStatus.COMPLETED, count: 1 },
      { status: TaskStatus.BACKOFF, count: 1 },
    ],
    why: 'Task "pay" tries again in 12 s',
    labels: { team: "support" },
  });
  return Object.assign(sample, changes);
}

/** A task that failed once and tries again in 12 s. */
export function sampleTask(changes: Partial<Task> = {}): Task {
  const sample = create(TaskSchema, {
    name: "pay",
    kind: "payments",
    queue: "payments",
    status: TaskStatus.BACKOFF,
    version: 4,
    attempt: 1,
    attemptsLeft: 4,
    leaseVersion: 1,
    waitsFor: "It tries again in 12s.",
    waitsUntil: timestampFromMs(NOW_MS + 12_000),
    lastFailure: create(FailureSchema, { kind: "HttpError", message: "503 from the bank" }),
  });
  return Object.assign(sample, changes);
}

/** A task that completed at once. */
export function completedTask(name: string): Task {
  const status = TaskStatus.COMPLETED;
  return create(TaskSchema, { name, kind: "payments", status, attempt: 1, leaseVersion: 1 });
}

/** An event of the task above. */
export function sampleEvent(changes: Partial<HistoryEvent> = {}): HistoryEvent {
  const sample = create(HistoryEventSchema, {
    sequence: 9_007_199_254_740_993n,
    number: 2,
    at: timestampFromMs(NOW_MS - 60_000),
    type: "TaskLeased",
    task: "pay",
    attempt: 1,
    leaseVersion: 1,
  });
  return Object.assign(sample, changes);
}

/** An open review of an operation. */
export function sampleReview(changes: Partial<Review> = {}): Review {
  const sample = create(ReviewSchema, {
    reviewId: "4-0",
    namespace: "default",
    runId: "order-7",
    task: "pay",
    subject: ReviewSubject.OPERATION,
    operationKey: "default/order-7/1/task/pay/refund/1",
    known: "One call was sent and nobody knows how it ended",
    choices: [ReviewChoice.DONE, ReviewChoice.RETRY, ReviewChoice.ABANDON, ReviewChoice.FAIL],
    openedAt: timestampFromMs(NOW_MS - 3_600_000),
    version: 1,
  });
  return Object.assign(sample, changes);
}
