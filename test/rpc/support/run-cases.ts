import { OnExisting, RunService } from "@pawl/proto/v1/run_service_pb.js";
import { deletionCases } from "./deletion-cases.js";
import { type Case, long, noRun, refused } from "./error-case.js";
import { json, oneTask } from "./fixtures.js";

const { method: run } = RunService;

/** A change of a leased task that would be taken. */
const change = {
  task: "only",
  expectedVersion: 1,
  reason: "by hand",
  change: { case: "fail", value: {} },
} as const;

/** Every documented error of RunService that is a status. */
export const runCases: readonly Case[] = [
  refused(run.startRuns, "INVALID_ARGUMENT PAWL_INVALID_FIELD", () => ({ runs: [] })),
  refused(run.startRuns, "NOT_FOUND PAWL_NAMESPACE_NOT_FOUND", () => ({
    namespace: "other",
    runs: [oneTask("n", "k")],
  })),
  refused(run.startAndAwait, "INVALID_ARGUMENT PAWL_INVALID_FIELD", () => ({})),
  refused(run.startAndAwait, "INVALID_ARGUMENT PAWL_INVALID_FIELD", () => ({
    run: oneTask("", "k"),
  })),
  refused(run.startAndAwait, "NOT_FOUND PAWL_NAMESPACE_NOT_FOUND", () => ({
    namespace: "other",
    run: oneTask("n", "k"),
  })),
  refused(run.startAndAwait, "ALREADY_EXISTS PAWL_FINGERPRINT_CONFLICT", ({ open }) => ({
    run: oneTask(open.runId, "k", { input: json({ a: 2 }) }),
  })),
  refused(run.startAndAwait, "ALREADY_EXISTS PAWL_FINGERPRINT_CONFLICT", ({ open }) => ({
    run: oneTask(open.runId, "k", { workflow: "other" }),
  })),
  refused(run.startAndAwait, "ALREADY_EXISTS PAWL_RUN_EXISTS", ({ open }) => ({
    run: oneTask(open.runId, "k", { onExisting: OnExisting.REFUSE }),
  })),
  refused(run.startAndAwait, "FAILED_PRECONDITION PAWL_OPERATIONS_UNSETTLED", ({ open }) => ({
    run: oneTask(open.runId, "k", { onExisting: OnExisting.REPLACE_OPEN, requestId: "q" }),
  })),
  refused(run.startAndAwait, "INVALID_ARGUMENT PAWL_INVALID_FIELD", ({ done }) => ({
    run: oneTask(done.runId, "k", { onExisting: OnExisting.RESTART_CLOSED }),
  })),
  refused(run.startAndAwait, "INVALID_ARGUMENT PAWL_INVALID_FIELD", ({ done }) => ({
    run: oneTask(done.runId, "k", { requestId: long }),
  })),
  refused(run.getRun, "NOT_FOUND PAWL_RUN_NOT_FOUND", () => noRun),
  refused(run.getRun, "INVALID_ARGUMENT PAWL_INVALID_FIELD", () => ({ runId: "" })),
  refused(run.getRun, "NOT_FOUND PAWL_NAMESPACE_NOT_FOUND", () => ({ ...noRun, namespace: "x" })),
  refused(run.listRuns, "INVALID_ARGUMENT PAWL_INVALID_PAGE_TOKEN", () => ({ pageToken: "zzz" })),
  refused(run.listRuns, "INVALID_ARGUMENT PAWL_INVALID_FIELD", () => ({ pageSize: 1001 })),
  refused(run.listRuns, "INVALID_ARGUMENT PAWL_INVALID_FIELD", () => ({ workflow: long })),
  refused(run.getTask, "NOT_FOUND PAWL_RUN_NOT_FOUND", () => ({ ...noRun, task: "only" })),
  refused(run.getTask, "NOT_FOUND PAWL_TASK_NOT_FOUND", ({ open }) => ({
    runId: open.runId,
    task: "other",
  })),
  refused(run.getTask, "INVALID_ARGUMENT PAWL_INVALID_FIELD", ({ open }) => ({
    runId: open.runId,
  })),
  refused(run.listTasks, "NOT_FOUND PAWL_RUN_NOT_FOUND", () => noRun),
  refused(run.listTasks, "INVALID_ARGUMENT PAWL_INVALID_PAGE_TOKEN", ({ open }) => ({
    runId: open.runId,
    pageToken: "zzz",
  })),
  refused(run.listTasks, "INVALID_ARGUMENT PAWL_INVALID_FIELD", () => ({ runId: long })),
  refused(run.getResult, "NOT_FOUND PAWL_RUN_NOT_FOUND", () => noRun),
  refused(run.getResult, "NOT_FOUND PAWL_RUN_NOT_FOUND", () => ({
    ...noRun,
    wait: { seconds: 1n },
  })),
  refused(run.getResult, "INVALID_ARGUMENT PAWL_INVALID_FIELD", ({ open }) => ({
    runId: open.runId,
    wait: { seconds: 51n },
  })),
  refused(run.awaitResults, "INVALID_ARGUMENT PAWL_INVALID_FIELD", () => ({ runIds: [] })),
  refused(run.awaitResults, "INVALID_ARGUMENT PAWL_INVALID_FIELD", () => ({ runIds: ["a", ""] })),
  refused(run.watchRun, "NOT_FOUND PAWL_RUN_NOT_FOUND", () => noRun),
  refused(run.watchRun, "INVALID_ARGUMENT PAWL_INVALID_POSITION", ({ open }) => ({
    runId: open.runId,
    position: Buffer.from("nowhere"),
  })),
  refused(run.watchRun, "INVALID_ARGUMENT PAWL_INVALID_FIELD", () => ({ runId: "" })),
  refused(run.watchRuns, "INVALID_ARGUMENT PAWL_INVALID_POSITION", () => ({
    position: Buffer.from("nowhere"),
  })),
  refused(run.watchRuns, "NOT_FOUND PAWL_NAMESPACE_NOT_FOUND", () => ({ namespace: "x" })),
  refused(run.watchRuns, "INVALID_ARGUMENT PAWL_INVALID_FIELD", () => ({ workflow: long })),
  refused(run.readOutput, "NOT_FOUND PAWL_RUN_NOT_FOUND", () => noRun),
  refused(run.readOutput, "NOT_FOUND PAWL_NAMESPACE_NOT_FOUND", () => ({
    ...noRun,
    namespace: "x",
  })),
  refused(run.readOutput, "NOT_FOUND PAWL_TASK_NOT_FOUND", ({ open }) => ({
    ...{ runId: open.runId, task: "other" },
  })),
  refused(run.readOutput, "INVALID_ARGUMENT PAWL_INVALID_FIELD", ({ open }) => ({
    ...{ runId: open.runId, channel: long },
  })),
  refused(run.readOutput, "INVALID_ARGUMENT PAWL_INVALID_FIELD", ({ open }) => ({
    ...{ runId: open.runId, after: [{ task: "only", leaseVersion: 0, number: 1 }] },
  })),
  refused(run.readOutput, "INVALID_ARGUMENT PAWL_INVALID_FIELD", ({ open }) => ({
    ...{ runId: open.runId, after: [{ task: "only", leaseVersion: 1, number: 0 }] },
  })),
  refused(run.readOutput, "INVALID_ARGUMENT PAWL_INVALID_FIELD", ({ open }) => ({
    ...{ runId: open.runId, after: [{ task: "", leaseVersion: 1, number: 1 }] },
  })),
  refused(run.readOutput, "INVALID_ARGUMENT PAWL_INVALID_FIELD", ({ open }) => {
    const place = { task: "only", leaseVersion: 1, number: 1 };
    return { runId: open.runId, after: Array.from({ length: 1001 }, () => place) };
  }),
  refused(run.cancelRun, "NOT_FOUND PAWL_RUN_NOT_FOUND", () => noRun),
  refused(run.cancelRun, "FAILED_PRECONDITION PAWL_RUN_OVER", ({ done }) => ({
    runId: done.runId,
  })),
  refused(run.cancelRun, "FAILED_PRECONDITION PAWL_STALE_VERSION", ({ open }) => ({
    runId: open.runId,
    expectedVersion: 77,
  })),
  refused(run.cancelRun, "INVALID_ARGUMENT PAWL_INVALID_FIELD", ({ open }) => ({
    runId: open.runId,
    reason: "x".repeat(1001),
  })),
  refused(run.pauseRun, "NOT_FOUND PAWL_RUN_NOT_FOUND", () => noRun),
  refused(run.pauseRun, "FAILED_PRECONDITION PAWL_RUN_OVER", ({ done }) => ({
    runId: done.runId,
  })),
  refused(run.pauseRun, "FAILED_PRECONDITION PAWL_STALE_VERSION", ({ open }) => ({
    runId: open.runId,
    expectedVersion: 77,
  })),
  refused(run.pauseRun, "FAILED_PRECONDITION PAWL_ILLEGAL_TRANSITION", ({ stopping }) => ({
    runId: stopping.runId,
  })),
  refused(run.pauseRun, "INVALID_ARGUMENT PAWL_INVALID_FIELD", ({ open }) => ({
    runId: open.runId,
    reason: "x".repeat(1001),
  })),
  refused(run.resumeRun, "NOT_FOUND PAWL_RUN_NOT_FOUND", () => noRun),
  refused(run.resumeRun, "FAILED_PRECONDITION PAWL_RUN_OVER", ({ done }) => ({
    runId: done.runId,
  })),
  refused(run.resumeRun, "FAILED_PRECONDITION PAWL_STALE_VERSION", ({ paused }) => ({
    runId: paused.runId,
    expectedVersion: 77,
  })),
  refused(run.resumeRun, "INVALID_ARGUMENT PAWL_INVALID_FIELD", () => ({ runId: "" })),
  refused(run.changeTask, "NOT_FOUND PAWL_RUN_NOT_FOUND", () => ({ ...noRun, ...change })),
  refused(run.changeTask, "NOT_FOUND PAWL_TASK_NOT_FOUND", ({ open }) => ({
    ...{ ...change, runId: open.runId, task: "other" },
  })),
  refused(run.changeTask, "FAILED_PRECONDITION PAWL_RUN_OVER", ({ done }) => ({
    ...{ ...change, runId: done.runId },
  })),
  refused(run.changeTask, "FAILED_PRECONDITION PAWL_STALE_VERSION", ({ open }) => ({
    ...{ ...change, runId: open.runId, expectedVersion: 77 },
  })),
  refused(run.changeTask, "FAILED_PRECONDITION PAWL_ILLEGAL_TRANSITION", ({ open }) => ({
    ...{ ...change, runId: open.runId, change: { case: "runNow" as const, value: {} } },
  })),
  refused(run.changeTask, "INVALID_ARGUMENT PAWL_INVALID_FIELD", ({ open }) => ({
    ...{ ...change, runId: open.runId, reason: "" },
  })),
  refused(run.changeTask, "INVALID_ARGUMENT PAWL_INVALID_FIELD", ({ open }) => ({
    ...{ ...change, runId: open.runId, change: { case: "policy" as const, value: {} } },
  })),
  refused(run.terminateRun, "NOT_FOUND PAWL_RUN_NOT_FOUND", () => noRun),
  refused(run.terminateRun, "FAILED_PRECONDITION PAWL_RUN_OVER", ({ done }) => ({
    runId: done.runId,
  })),
  refused(run.terminateRun, "FAILED_PRECONDITION PAWL_STALE_VERSION", ({ open }) => ({
    runId: open.runId,
    expectedVersion: 77,
  })),
  refused(run.terminateRun, "INVALID_ARGUMENT PAWL_INVALID_FIELD", () => ({ runId: "" })),
  ...deletionCases,
  refused(run.getHistory, "NOT_FOUND PAWL_RUN_NOT_FOUND", () => noRun),
  refused(run.getHistory, "INVALID_ARGUMENT PAWL_INVALID_FIELD", () => ({ runId: long })),
  refused(run.exportRuns, "NOT_FOUND PAWL_RUN_NOT_FOUND", () => ({ runIds: ["no-such-run"] })),
  refused(run.exportRuns, "INVALID_ARGUMENT PAWL_INVALID_FIELD", () => ({ runIds: [long] })),
  refused(run.getRecoveryReport, "NOT_FOUND PAWL_RUN_NOT_FOUND", () => noRun),
  refused(run.getRecoveryReport, "INVALID_ARGUMENT PAWL_INVALID_FIELD", () => ({ runId: "" })),
  refused(run.getRecoveryReport, "INVALID_ARGUMENT PAWL_INVALID_FIELD", ({ open }) => ({
    runId: open.runId,
    pageSize: 1001,
  })),
  refused(run.getRecoveryReport, "INVALID_ARGUMENT PAWL_INVALID_PAGE_TOKEN", ({ open }) => ({
    runId: open.runId,
    pageToken: "nowhere",
  })),
  refused(run.readBlob, "NOT_FOUND PAWL_RUN_NOT_FOUND", () => ({
    ...noRun,
    sha256: new Uint8Array(32),
  })),
  refused(run.readBlob, "NOT_FOUND PAWL_BLOB_NOT_FOUND", ({ open }) => ({
    runId: open.runId,
    sha256: new Uint8Array(32),
  })),
  refused(run.readBlob, "INVALID_ARGUMENT PAWL_INVALID_FIELD", ({ open }) => ({
    runId: open.runId,
    sha256: new Uint8Array(31),
  })),
];
