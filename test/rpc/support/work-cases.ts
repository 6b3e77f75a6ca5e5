import { SinkKind } from "@pawl/proto/v1/operation_pb.js";
import { OperationService } from "@pawl/proto/v1/operation_service_pb.js";
import { ReviewChoice } from "@pawl/proto/v1/review_pb.js";
import { ReviewService } from "@pawl/proto/v1/review_service_pb.js";
import { WorkerService } from "@pawl/proto/v1/worker_service_pb.js";
import { type Case, long, lost, noRun, refused } from "./error-case.js";
import { json, leaseRef, operation } from "./fixtures.js";

const { method: worker } = WorkerService;
const { method: ops } = OperationService;
const { method: reviews } = ReviewService;

const serves = [{ kind: "k" }];
const chunk = { number: 1, payload: json(1) };

/** Every documented error of WorkerService that is a status. */
export const workerCases: readonly Case[] = [
  refused(worker.claimTasks, "INVALID_ARGUMENT PAWL_INVALID_FIELD", () => ({ serves })),
  refused(worker.claimTasks, "INVALID_ARGUMENT PAWL_INVALID_FIELD", () => ({ sessionId: "s" })),
  refused(worker.claimTasks, "INVALID_ARGUMENT PAWL_INVALID_FIELD", () => ({
    sessionId: "s",
    serves,
    tasksMax: 1001,
  })),
  refused(worker.claimTasks, "NOT_FOUND PAWL_NAMESPACE_NOT_FOUND", () => ({
    namespace: "x",
    sessionId: "s",
    serves,
  })),
  refused(worker.reportOutputs, "INVALID_ARGUMENT PAWL_INVALID_FIELD", () => ({ reports: [] })),
  refused(worker.renewLeases, "INVALID_ARGUMENT PAWL_INVALID_FIELD", () => ({ leases: [] })),
  refused(worker.recordSteps, "INVALID_ARGUMENT PAWL_INVALID_FIELD", () => ({ steps: [] })),
  refused(worker.recordObligations, "INVALID_ARGUMENT PAWL_INVALID_FIELD", ({ open }) => ({
    lease: leaseRef(open),
    obligations: [],
  })),
  refused(worker.startChildren, "INVALID_ARGUMENT PAWL_INVALID_FIELD", ({ open }) => ({
    lease: leaseRef(open),
    children: [],
  })),
  refused(worker.startChildren, "INVALID_ARGUMENT PAWL_INVALID_FIELD", () => ({
    children: [{ name: "x", workflow: "y" }],
  })),
  refused(worker.recordObligations, "INVALID_ARGUMENT PAWL_INVALID_FIELD", () => ({
    obligations: [{ name: "x", runId: "y" }],
  })),
  refused(worker.getRecords, "NOT_FOUND PAWL_RUN_NOT_FOUND", () => ({
    lease: { ...noRun, task: "only", leaseVersion: 1 },
  })),
  refused(worker.getRecords, "NOT_FOUND PAWL_TASK_NOT_FOUND", ({ open }) => ({
    lease: { ...leaseRef(open), task: "other" },
  })),
  refused(worker.getRecords, "FAILED_PRECONDITION PAWL_LEASE_LOST", (world) => ({
    lease: lost(world),
  })),
  refused(worker.getRecords, "INVALID_ARGUMENT PAWL_INVALID_FIELD", () => ({})),
  refused(worker.releaseTask, "NOT_FOUND PAWL_RUN_NOT_FOUND", () => ({
    lease: { ...noRun, task: "only", leaseVersion: 1 },
  })),
  refused(worker.releaseTask, "NOT_FOUND PAWL_TASK_NOT_FOUND", ({ open }) => ({
    lease: { ...leaseRef(open), task: "other" },
  })),
  refused(worker.releaseTask, "FAILED_PRECONDITION PAWL_LEASE_LOST", (world) => ({
    lease: lost(world),
  })),
  refused(worker.releaseTask, "INVALID_ARGUMENT PAWL_INVALID_FIELD", ({ open }) => ({
    lease: leaseRef(open),
    delay: { seconds: -1n },
  })),
  refused(worker.reportProgress, "NOT_FOUND PAWL_RUN_NOT_FOUND", () => ({
    lease: { ...noRun, task: "only", leaseVersion: 1 },
    progress: json(1),
  })),
  refused(worker.reportProgress, "NOT_FOUND PAWL_TASK_NOT_FOUND", ({ open }) => ({
    lease: { ...leaseRef(open), task: "other" },
    progress: json(1),
  })),
  refused(worker.reportProgress, "FAILED_PRECONDITION PAWL_LEASE_LOST", (world) => ({
    lease: lost(world),
    progress: json(1),
  })),
  refused(worker.reportProgress, "INVALID_ARGUMENT PAWL_INVALID_FIELD", ({ open }) => ({
    lease: leaseRef(open),
    progress: json("x".repeat(40_000)),
  })),
  refused(worker.emitOutput, "NOT_FOUND PAWL_RUN_NOT_FOUND", () => ({
    lease: { ...noRun, task: "only", leaseVersion: 1 },
    chunks: [chunk],
  })),
  refused(worker.emitOutput, "NOT_FOUND PAWL_TASK_NOT_FOUND", ({ open }) => ({
    lease: { ...leaseRef(open), task: "other" },
    chunks: [chunk],
  })),
  refused(worker.emitOutput, "FAILED_PRECONDITION PAWL_LEASE_LOST", (world) => ({
    lease: lost(world),
    chunks: [chunk],
  })),
  ...[
    [],
    Array.from({ length: 1001 }, () => chunk),
    [{ ...chunk, number: 0 }],
    [{ number: 1 }],
    [{ ...chunk, channel: long }],
    [{ ...chunk, payload: json("x".repeat(40_000)) }],
    [{ ...chunk, payload: { contentType: "text/plain" } }],
  ].map((chunks) =>
    refused(worker.emitOutput, "INVALID_ARGUMENT PAWL_INVALID_FIELD", ({ open }) => ({
      lease: leaseRef(open),
      chunks,
    })),
  ),
];

const absent = { finding: { case: "absent", value: {} } } as const;
const result = { outcome: { case: "result", value: json("ok") } } as const;

/** Every documented error of OperationService that is a status. */
export const operationCases: readonly Case[] = [
  refused(ops.intendOperation, "ALREADY_EXISTS PAWL_FINGERPRINT_CONFLICT", ({ open }) => ({
    holder: leaseRef(open),
    intentId: "i2",
    operation: operation("pay", SinkKind.OPAQUE, { target: "account-2" }),
  })),
  refused(ops.intendOperation, "NOT_FOUND PAWL_RUN_NOT_FOUND", () => ({
    holder: { ...noRun, task: "only", leaseVersion: 1 },
    intentId: "i",
    operation: operation("pay"),
  })),
  refused(ops.intendOperation, "NOT_FOUND PAWL_TASK_NOT_FOUND", ({ open }) => ({
    holder: { ...leaseRef(open), task: "other" },
    intentId: "i",
    operation: operation("pay"),
  })),
  refused(ops.intendOperation, "FAILED_PRECONDITION PAWL_LEASE_LOST", (world) => ({
    holder: lost(world),
    intentId: "i",
    operation: operation("pay"),
  })),
  refused(ops.intendOperation, "FAILED_PRECONDITION PAWL_RUN_OVER", ({ done }) => ({
    holder: leaseRef(done),
    intentId: "i",
    operation: operation("pay"),
  })),
  refused(ops.intendOperation, "INVALID_ARGUMENT PAWL_INVALID_FIELD", ({ open }) => ({
    holder: leaseRef(open),
    intentId: "",
    operation: operation("pay"),
  })),
  refused(ops.intendOperation, "INVALID_ARGUMENT PAWL_INVALID_FIELD", () => ({
    intentId: "i",
    operation: operation("pay"),
  })),
  refused(ops.observeOperation, "NOT_FOUND PAWL_OPERATION_NOT_FOUND", ({ open }) => ({
    holder: leaseRef(open),
    key: "task/no/such",
    intentId: "i",
    observation: result,
  })),
  refused(ops.observeOperation, "NOT_FOUND PAWL_OPERATION_NOT_FOUND", () => ({
    key: "namespace/default/pay/nothing",
    intentId: "i",
    observation: result,
  })),
  refused(ops.observeOperation, "NOT_FOUND PAWL_RUN_NOT_FOUND", ({ key }) => ({
    holder: { ...noRun, task: "only", leaseVersion: 1 },
    key,
    intentId: "i1",
    observation: result,
  })),
  refused(ops.observeOperation, "FAILED_PRECONDITION PAWL_STALE_INTENT", ({ open, key }) => ({
    holder: leaseRef(open),
    key,
    intentId: "another",
    observation: result,
  })),
  refused(ops.observeOperation, "INVALID_ARGUMENT PAWL_INVALID_FIELD", ({ open, key }) => ({
    holder: leaseRef(open),
    key,
    intentId: "i1",
    observation: {},
  })),
  refused(ops.reconcileOperation, "NOT_FOUND PAWL_OPERATION_NOT_FOUND", ({ open }) => ({
    holder: leaseRef(open),
    key: "task/no/such",
    intentId: "i",
    lookedUpIntentId: "i1",
    reconciliation: absent,
  })),
  refused(ops.reconcileOperation, "NOT_FOUND PAWL_TASK_NOT_FOUND", ({ open, key }) => ({
    holder: { ...leaseRef(open), task: "other" },
    key,
    intentId: "i",
    lookedUpIntentId: "i1",
    reconciliation: absent,
  })),
  refused(ops.reconcileOperation, "FAILED_PRECONDITION PAWL_LEASE_LOST", (world) => ({
    holder: lost(world),
    key: world.key,
    intentId: "i",
    lookedUpIntentId: "i1",
    reconciliation: absent,
  })),
  refused(ops.reconcileOperation, "FAILED_PRECONDITION PAWL_RUN_OVER", ({ done, key }) => ({
    holder: leaseRef(done),
    key,
    intentId: "i",
    lookedUpIntentId: "i1",
    reconciliation: absent,
  })),
  refused(ops.reconcileOperation, "INVALID_ARGUMENT PAWL_INVALID_FIELD", ({ open, key }) => ({
    holder: leaseRef(open),
    key,
    intentId: "i",
    lookedUpIntentId: "i1",
    reconciliation: {},
  })),
  refused(ops.getOperation, "NOT_FOUND PAWL_OPERATION_NOT_FOUND", () => ({ key: "task/none" })),
  refused(ops.getOperation, "INVALID_ARGUMENT PAWL_INVALID_FIELD", () => ({ key: "" })),
  refused(ops.listOperations, "NOT_FOUND PAWL_RUN_NOT_FOUND", () => noRun),
  refused(ops.listOperations, "INVALID_ARGUMENT PAWL_INVALID_PAGE_TOKEN", ({ open }) => ({
    runId: open.runId,
    pageToken: "zzz",
  })),
  refused(ops.listOperations, "INVALID_ARGUMENT PAWL_INVALID_FIELD", () => ({ pageSize: 1001 })),
];

/** A decision that can be taken. */
export const resolution: {
  readonly expectedVersion: number;
  readonly choice: ReviewChoice;
  readonly reason: string;
} = { expectedVersion: 1, choice: ReviewChoice.ABANDON, reason: "seen" };

/** Every documented error of ReviewService that is a status. */
export const reviewCases: readonly Case[] = [
  refused(reviews.listReviews, "INVALID_ARGUMENT PAWL_INVALID_PAGE_TOKEN", () => ({
    pageToken: "zzz",
  })),
  refused(reviews.listReviews, "INVALID_ARGUMENT PAWL_INVALID_PAGE_TOKEN", ({ open }) => ({
    runId: open.runId,
    pageToken: "zzz",
  })),
  refused(reviews.listReviews, "INVALID_ARGUMENT PAWL_INVALID_FIELD", () => ({
    includeResolved: true,
  })),
  refused(reviews.getReview, "NOT_FOUND PAWL_REVIEW_NOT_FOUND", () => ({ reviewId: "999999-0" })),
  refused(reviews.getReview, "NOT_FOUND PAWL_REVIEW_NOT_FOUND", ({ reviewId }) => ({
    reviewId: `${reviewId}9`,
  })),
  refused(reviews.getReview, "INVALID_ARGUMENT PAWL_INVALID_FIELD", () => ({ reviewId: "" })),
  refused(reviews.watchReviews, "INVALID_ARGUMENT PAWL_INVALID_POSITION", () => ({
    position: Buffer.from("nowhere"),
  })),
  refused(reviews.resolveReview, "NOT_FOUND PAWL_REVIEW_NOT_FOUND", () => ({
    ...resolution,
    reviewId: "999999-0",
  })),
  refused(reviews.resolveReview, "NOT_FOUND PAWL_REVIEW_NOT_FOUND", ({ reviewId }) => ({
    ...resolution,
    reviewId: `${reviewId}9`,
  })),
  refused(reviews.resolveReview, "NOT_FOUND PAWL_REVIEW_NOT_FOUND", () => ({
    ...resolution,
    reviewId: "nonsense",
  })),
  refused(reviews.resolveReview, "FAILED_PRECONDITION PAWL_STALE_VERSION", ({ reviewId }) => ({
    ...resolution,
    reviewId,
    expectedVersion: 7,
  })),
  refused(
    reviews.resolveReview,
    "ALREADY_EXISTS PAWL_FINGERPRINT_CONFLICT",
    ({ resolvedReviewId }) => ({
      ...resolution,
      reviewId: resolvedReviewId,
      choice: ReviewChoice.RETRY,
    }),
  ),
  refused(reviews.resolveReview, "INVALID_ARGUMENT PAWL_INVALID_FIELD", ({ reviewId }) => ({
    ...resolution,
    reviewId,
    choice: ReviewChoice.DONE,
  })),
  refused(reviews.resolveReview, "INVALID_ARGUMENT PAWL_INVALID_FIELD", ({ reviewId }) => ({
    ...resolution,
    reviewId,
    reason: "",
  })),
  refused(reviews.resolveReview, "INVALID_ARGUMENT PAWL_INVALID_FIELD", ({ reviewId }) => ({
    ...resolution,
    reviewId,
    choice: ReviewChoice.UNSPECIFIED,
  })),
];
