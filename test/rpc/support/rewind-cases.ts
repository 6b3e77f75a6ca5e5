import type { MessageInitShape } from "@bufbuild/protobuf";
import type { RewindRunRequestSchema } from "@pawl/proto/v1/rewind_pb.js";
import { RunService } from "@pawl/proto/v1/run_service_pb.js";
import { type Case, long, noRun, refused } from "./error-case.js";

const { method: run } = RunService;

const rewind = {
  requestId: "w1",
  to: { case: "event", value: 1 },
} as const satisfies MessageInitShape<typeof RewindRunRequestSchema>;
const retry = { requestId: "y1" };

/** Every error of RewindRun and RetryRun that one request can meet; what needs a history of its own is in `test/rpc/rewind.test.ts` and `test/core`. */
export const rewindCases: readonly Case[] = [
  refused(run.rewindRun, "NOT_FOUND PAWL_RUN_NOT_FOUND", () => ({ ...noRun, ...rewind })),
  refused(run.rewindRun, "NOT_FOUND PAWL_TASK_NOT_FOUND", ({ open }) => ({
    ...rewind,
    runId: open.runId,
    to: { case: "task" as const, value: { task: "other" } },
  })),
  refused(run.rewindRun, "FAILED_PRECONDITION PAWL_STALE_VERSION", ({ done }) => ({
    ...{ ...rewind, runId: done.runId, expectedVersion: 77 },
  })),
  refused(run.rewindRun, "FAILED_PRECONDITION PAWL_OPERATIONS_UNSETTLED", ({ open }) => ({
    ...{ ...rewind, runId: open.runId },
  })),
  refused(run.rewindRun, "INVALID_ARGUMENT PAWL_INVALID_FIELD", ({ done }) => ({
    ...{ ...rewind, runId: done.runId, to: { case: "event" as const, value: 999 } },
  })),
  refused(run.rewindRun, "INVALID_ARGUMENT PAWL_INVALID_FIELD", ({ done }) => ({
    ...{ runId: done.runId, requestId: "w1" },
  })),
  refused(run.rewindRun, "INVALID_ARGUMENT PAWL_INVALID_FIELD", ({ done }) => ({
    ...{ ...rewind, runId: done.runId, requestId: "" },
  })),
  refused(run.rewindRun, "INVALID_ARGUMENT PAWL_INVALID_FIELD", ({ done }) => ({
    ...{ ...rewind, runId: done.runId, requestId: long },
  })),
  refused(run.retryRun, "NOT_FOUND PAWL_RUN_NOT_FOUND", () => ({ ...noRun, ...retry })),
  refused(run.retryRun, "NOT_FOUND PAWL_TASK_NOT_FOUND", ({ done }) => ({
    ...{ ...retry, runId: done.runId, tasks: ["other"] },
  })),
  refused(run.retryRun, "FAILED_PRECONDITION PAWL_STALE_VERSION", ({ done }) => ({
    ...{ ...retry, runId: done.runId, expectedVersion: 77 },
  })),
  refused(run.retryRun, "FAILED_PRECONDITION PAWL_ILLEGAL_TRANSITION", ({ done }) => ({
    ...{ ...retry, runId: done.runId },
  })),
  refused(run.retryRun, "INVALID_ARGUMENT PAWL_INVALID_FIELD", ({ done }) => ({
    ...{ runId: done.runId, requestId: "" },
  })),
];
