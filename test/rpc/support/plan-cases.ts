import { RunService } from "@pawl/proto/v1/run_service_pb.js";
import { WorkerService } from "@pawl/proto/v1/worker_service_pb.js";
import { type Case, noRun, refused } from "./error-case.js";
import { leaseRef } from "./fixtures.js";

const { method: run } = RunService;
const { method: worker } = WorkerService;

/** A plan in which the one task of the cases' runs is another one. */
const plan = { tasks: [{ name: "only", kind: "another" }] };
/** A revision that would be taken of an open run. */
const revision = { plan, reason: "better", expectedPlanVersion: 1 };
const proposal = { plan, reason: "better", record: "plan" };

/** Every documented error of the methods about plans. */
export const planCases: readonly Case[] = [
  refused(run.revisePlan, "INVALID_ARGUMENT PAWL_INVALID_FIELD", ({ open }) => ({
    ...{ ...revision, runId: open.runId, expectedPlanVersion: 0 },
  })),
  refused(run.revisePlan, "INVALID_ARGUMENT PAWL_INVALID_FIELD", ({ open }) => ({
    ...{ ...revision, runId: open.runId, plan: { tasks: [] } },
  })),
  refused(run.revisePlan, "INVALID_ARGUMENT PAWL_INVALID_FIELD", ({ open }) => ({
    ...{ ...revision, runId: open.runId, reason: "" },
  })),
  refused(run.revisePlan, "NOT_FOUND PAWL_RUN_NOT_FOUND", () => ({ ...revision, ...noRun })),
  refused(run.revisePlan, "NOT_FOUND PAWL_NAMESPACE_NOT_FOUND", () => ({
    ...{ ...revision, ...noRun, namespace: "x" },
  })),
  refused(run.revisePlan, "FAILED_PRECONDITION PAWL_RUN_OVER", ({ done }) => ({
    ...{ ...revision, runId: done.runId },
  })),
  refused(run.revisePlan, "FAILED_PRECONDITION PAWL_STALE_VERSION", ({ open }) => ({
    ...{ ...revision, runId: open.runId, expectedPlanVersion: 2 },
  })),
  refused(run.revisePlan, "FAILED_PRECONDITION PAWL_ILLEGAL_TRANSITION", ({ stopping }) => ({
    ...{ ...revision, runId: stopping.runId },
  })),
  refused(worker.proposeRevision, "INVALID_ARGUMENT PAWL_INVALID_FIELD", ({ open }) => ({
    ...{ ...proposal, ...leaseRef(open), record: "" },
  })),
  refused(worker.proposeRevision, "NOT_FOUND PAWL_RUN_NOT_FOUND", ({ open }) => ({
    ...{ ...proposal, ...leaseRef(open), ...noRun },
  })),
  refused(worker.proposeRevision, "NOT_FOUND PAWL_TASK_NOT_FOUND", ({ open }) => ({
    ...{ ...proposal, ...leaseRef(open), task: "other" },
  })),
  refused(worker.proposeRevision, "FAILED_PRECONDITION PAWL_RUN_OVER", ({ done }) => ({
    ...{ ...proposal, ...leaseRef(done) },
  })),
  refused(worker.proposeRevision, "FAILED_PRECONDITION PAWL_LEASE_LOST", ({ open }) => ({
    ...{ ...proposal, ...leaseRef(open), leaseVersion: 99 },
  })),
  refused(worker.proposeRevision, "FAILED_PRECONDITION PAWL_STALE_VERSION", ({ open }) => ({
    ...{ ...proposal, ...leaseRef(open), expectedPlanVersion: 7 },
  })),
  refused(worker.proposeRevision, "FAILED_PRECONDITION PAWL_ILLEGAL_TRANSITION", ({ open }) => ({
    ...{ ...proposal, ...leaseRef(open) },
  })),
  refused(run.getPlan, "NOT_FOUND PAWL_RUN_NOT_FOUND", () => noRun),
  refused(run.getPlan, "NOT_FOUND PAWL_PLAN_NOT_FOUND", ({ open }) => ({
    ...{ runId: open.runId, planVersion: 2 },
  })),
  refused(run.listPlanVersions, "NOT_FOUND PAWL_RUN_NOT_FOUND", () => noRun),
  refused(run.diffPlans, "NOT_FOUND PAWL_RUN_NOT_FOUND", () => noRun),
  refused(run.diffPlans, "NOT_FOUND PAWL_PLAN_NOT_FOUND", ({ open }) => ({
    ...{ runId: open.runId, fromPlanVersion: 5 },
  })),
  refused(run.getTask, "NOT_FOUND PAWL_PLAN_NOT_FOUND", ({ open }) => ({
    ...{ runId: open.runId, task: "only", planVersion: 2 },
  })),
  refused(run.listTasks, "NOT_FOUND PAWL_PLAN_NOT_FOUND", ({ open }) => ({
    ...{ runId: open.runId, planVersion: 2 },
  })),
];
