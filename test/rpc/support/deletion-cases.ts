import { AdminService } from "@pawl/proto/v1/admin_service_pb.js";
import { RunService } from "@pawl/proto/v1/run_service_pb.js";
import { type Case, noRun, refused } from "./error-case.js";

const { method: run } = RunService;
const { method: admin } = AdminService;

/** Documented errors of what deletes, and of what keeps from it; PAWL_PROPOSALS_OPEN and PAWL_RUN_NEEDED are in test/core/commands/delete-run.test.ts. */
export const deletionCases: readonly Case[] = [
  refused(run.deleteRun, "NOT_FOUND PAWL_RUN_NOT_FOUND", () => noRun),
  refused(run.deleteRun, "FAILED_PRECONDITION PAWL_ILLEGAL_TRANSITION", ({ open }) => ({
    runId: open.runId,
  })),
  refused(run.deleteRun, "FAILED_PRECONDITION PAWL_STALE_VERSION", ({ done }) => ({
    ...{ runId: done.runId, expectedVersion: 77 },
  })),
  refused(run.deleteRun, "FAILED_PRECONDITION PAWL_LEGAL_HOLD", ({ heldRunId }) => ({
    runId: heldRunId,
  })),
  refused(run.deleteRun, "FAILED_PRECONDITION PAWL_OPERATIONS_UNSETTLED", ({ unsureRunId }) => ({
    runId: unsureRunId,
  })),
  refused(run.deleteRun, "INVALID_ARGUMENT PAWL_INVALID_FIELD", () => ({ runId: "" })),
  ...[run.getRun, run.getResult, run.cancelRun, run.getHistory, run.sendSignal].map((method) =>
    refused(method, "NOT_FOUND PAWL_RUN_DELETED", ({ deletedRunId }) => ({
      ...{ runId: deletedRunId, name: "go", requestId: "1" },
    })),
  ),
  refused(admin.setLegalHold, "NOT_FOUND PAWL_RUN_NOT_FOUND", () => ({ ...noRun, held: true })),
  refused(admin.setLegalHold, "NOT_FOUND PAWL_RUN_DELETED", ({ deletedRunId }) => ({
    ...{ runId: deletedRunId, held: true },
  })),
  refused(admin.setLegalHold, "FAILED_PRECONDITION PAWL_STALE_VERSION", ({ open }) => ({
    ...{ runId: open.runId, held: true, expectedVersion: 77 },
  })),
  refused(admin.setLegalHold, "INVALID_ARGUMENT PAWL_INVALID_FIELD", () => ({
    ...{ held: true, reason: "x".repeat(1001) },
  })),
  refused(admin.setRetention, "INVALID_ARGUMENT PAWL_INVALID_FIELD", () => ({
    keep: { completed: { seconds: -1n } },
  })),
  refused(admin.setRetention, "FAILED_PRECONDITION PAWL_STALE_VERSION", () => ({
    ...{ keep: {}, expectedVersion: 77 },
  })),
];
