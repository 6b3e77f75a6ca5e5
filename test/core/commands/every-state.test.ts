import { LeaseEndReason } from "@pawl/proto/log/v1/event_pb.js";
import { SinkKind } from "@pawl/proto/v1/operation_pb.js";
import { ReviewChoice } from "@pawl/proto/v1/review_pb.js";
import { RunStatus, TaskStatus } from "@pawl/proto/v1/run_pb.js";
import type { Command } from "@pawl/server/core/command.js";
import type { EventBody } from "@pawl/server/core/event.js";
import {
  operationStatusName,
  operationTransitions,
  runStatusName,
  runTransitions,
  taskStatusName,
  taskTransitions,
} from "@pawl/server/core/transitions.js";
import { describe, expect, it } from "vitest";
import {
  cancelRun,
  completeTask,
  confirmCancel,
  endLease,
  failTask,
  fireDeadline,
  intend,
  leaseTask,
  observe,
  pauseRun,
  reconcile,
  recordStep,
  resolveReview,
  resumeRun,
  startRun,
  suspend,
  terminateRun,
} from "../support/commands.js";
import {
  attemptFailed,
  cancelRequested,
  completed,
  declared,
  leased,
  leaseEnded,
  observedNotSent,
  observedRefused,
  observedResult,
  observedUnknown,
  reviewOpened,
  reviewResolved,
  runClosed,
  runPaused,
  suspended,
} from "../support/events.js";
import { planOf } from "../support/plans.js";
import { type RunCommand, Scenario } from "../support/scenario.js";
import { failure, fingerprint, payload, START_MS } from "../support/values.js";

const { BACKOFF, NEEDS_REVIEW } = TaskStatus;
/** Outcomes by command. */
type Row = Readonly<Record<string, string>>;

const LOST = "PAWL_LEASE_LOST";
const ILLEGAL = "PAWL_ILLEGAL_TRANSITION";
const CONFLICT = "PAWL_FINGERPRINT_CONFLICT";
const OVER = "PAWL_RUN_OVER";
const STALE = "PAWL_STALE_INTENT";

/** A run with a task in each state; another, leased one keeps the run open. The lease version to try is the task's own. */
const tasks: Record<string, () => { scenario: Scenario; task: number; leaseVersion: number }> = {
  BLOCKED: () => ({
    scenario: keptOpen({ first: {}, x: { needs: ["first"] } }),
    task: 2,
    leaseVersion: 0,
  }),
  READY: () => ({ scenario: keptOpen({ x: {} }), task: 1, leaseVersion: 0 }),
  LEASED: () => ({ scenario: keptOpen({ x: {} }).given(leased(1, 1)), task: 1, leaseVersion: 1 }),
  BACKOFF: () => ({
    scenario: keptOpen({ x: {} }).given(
      leased(1, 1),
      attemptFailed(1, 1, { next: BACKOFF, readyAtMs: START_MS + 1000 }),
    ),
    task: 1,
    leaseVersion: 1,
  }),
  SUSPENDED: () => ({
    scenario: keptOpen({ x: {} }).given(leased(1, 1), suspended(1, 1)),
    task: 1,
    leaseVersion: 1,
  }),
  NEEDS_REVIEW: () => ({
    scenario: keptOpen({ x: {} }).given(
      leased(1, 1),
      declared({ task: 1, key: "task/default/r1/1/x/mail/1" }, { task: 1 }),
      observedUnknown(),
      reviewOpened({ task: 1 }),
      leaseEnded(1, 1, { reason: LeaseEndReason.REVIEW, next: NEEDS_REVIEW }),
    ),
    task: 1,
    leaseVersion: 1,
  }),
  COMPLETED: () => ({
    scenario: keptOpen({ x: {} }).given(leased(1, 1), completed(1, 1)),
    task: 1,
    leaseVersion: 1,
  }),
  FAILED: () => ({
    scenario: keptOpen({ x: {} }).given(leased(1, 1), attemptFailed(1, 1)),
    task: 1,
    leaseVersion: 1,
  }),
  SKIPPED: () => ({
    scenario: keptOpen({ first: {}, x: { needs: ["first"] } }).given(
      leased(1, 1),
      attemptFailed(1, 1),
    ),
    task: 2,
    leaseVersion: 0,
  }),
  CANCELLED: () => ({
    scenario: keptOpen({ x: {} }).given(cancelRequested()),
    task: 1,
    leaseVersion: 0,
  }),
};

function keptOpen(parts: Parameters<typeof planOf>[0]): Scenario {
  return Scenario.started(planOf({ other: {}, ...parts })).given(leased(0, 1));
}

const ofTask = {
  LeaseTask: (task: number) => leaseTask(task),
  CompleteTask: (task: number, lease: number) => completeTask(lease, { task }),
  FailTask: (task: number, lease: number) => failTask(lease, { task, retryAfterMs: 500 }),
  ConfirmCancel: (task: number, lease: number) => confirmCancel(lease, { task }),
  "EndLease RETURNED": (task: number, lease: number) =>
    endLease(lease, LeaseEndReason.RETURNED, { task }),
  "EndLease EXPIRED": (task: number, lease: number) =>
    endLease(lease, LeaseEndReason.EXPIRED, { task }),
  RecordStep: (task: number, lease: number) => recordStep(lease, { task }),
  SuspendTask: (task: number, lease: number) => suspend(lease, { task }),
  IntendOperation: (task: number, leaseVersion: number) =>
    intend(0, "i9", { lease: { task, leaseVersion } }),
  FireDeadline: (task: number) => fireDeadline(task),
};

const taskOutcomes: Readonly<Record<string, Row>> = {
  BLOCKED: row(ILLEGAL, LOST, LOST, LOST, LOST, LOST, LOST, LOST, LOST, "existing"),
  READY: row("taskLeased", LOST, LOST, LOST, LOST, LOST, LOST, LOST, LOST, "existing"),
  LEASED: row(
    ILLEGAL,
    "taskCompleted",
    "attemptFailed",
    ILLEGAL,
    "leaseEnded",
    "leaseEnded",
    "stepRecorded",
    "taskSuspended",
    "operationIntended: proceed",
    "existing",
  ),
  BACKOFF: row(ILLEGAL, CONFLICT, "existing", "existing", LOST, LOST, LOST, LOST, LOST, "existing"),
  SUSPENDED: row(ILLEGAL, LOST, LOST, LOST, LOST, LOST, LOST, "existing", LOST, "existing"),
  NEEDS_REVIEW: row(ILLEGAL, LOST, LOST, LOST, LOST, LOST, LOST, LOST, LOST, "existing"),
  COMPLETED: row(ILLEGAL, "existing", CONFLICT, CONFLICT, LOST, LOST, LOST, LOST, LOST, "existing"),
  FAILED: row(ILLEGAL, CONFLICT, "existing", "existing", LOST, LOST, LOST, LOST, LOST, "existing"),
  SKIPPED: row(ILLEGAL, LOST, LOST, LOST, LOST, LOST, LOST, LOST, LOST, "existing"),
  CANCELLED: row(ILLEGAL, LOST, LOST, LOST, LOST, LOST, LOST, LOST, LOST, "existing"),
};

function row(...outcomes: readonly string[]): Row {
  return Object.fromEntries(
    Object.keys(ofTask).map((name, index) => [name, outcomes[index] ?? ""]),
  );
}

describe("every command on a task in every state", () => {
  it("has every state of the table", () => {
    expect(Object.keys(tasks)).toEqual([...taskTransitions.keys()].map(taskStatusName));
  });

  it.each(Object.keys(tasks))("%s", (status) => {
    const { scenario, task, leaseVersion } = tasks[status]?.() ?? {};
    expect(taskStatusName(scenario?.state.tasks[task ?? -1]?.status ?? 0)).toBe(status);
    const outcomes = Object.entries(ofTask).map(([name, make]) => [
      name,
      scenario?.when(make(task ?? 0, leaseVersion ?? 0)).summary(),
    ]);
    expect(Object.fromEntries(outcomes)).toEqual(taskOutcomes[status]);
  });
});

/** An operation in each state at a reconcilable sink, of a task that is LEASED under lease 1. */
const operations: Readonly<Record<string, readonly EventBody[]>> = {
  "INTENDED, call open": [],
  "INTENDED, no call open": [observedNotSent()],
  "INTENDED after RETRY": [observedUnknown(), reviewOpened(), reviewResolved(ReviewChoice.RETRY)],
  IN_DOUBT: [observedUnknown()],
  NEEDS_REVIEW: [observedUnknown(), reviewOpened()],
  OBSERVED: [observedResult()],
  REFUSED: [observedRefused()],
  ABANDONED: [observedUnknown(), reviewOpened(), reviewResolved(ReviewChoice.ABANDON)],
};

const ofOperation: Readonly<Record<string, RunCommand>> = {
  "the same intent": intend(1, "i1"),
  "another intent": intend(1, "i2"),
  "observe result": observe("i1", { case: "result", value: payload("ok") }),
  "observe refused": observe("i1", { case: "refused", value: failure() }),
  "observe not sent": observe("i1", { case: "notSent", value: failure() }),
  "observe unknown": observe("i1", { case: "unknown", value: failure() }),
  "observe another call": observe("i0", { case: "result", value: payload("ok") }),
  "look-up found": reconcile(1, "i2", { case: "found", value: payload("ok") }),
  "look-up absent": reconcile(1, "i2", { case: "absent" }),
  "look-up unknown": reconcile(1, "i2", { case: "unknown", value: failure() }),
  "resolve DONE": resolveReview(ReviewChoice.DONE, { result: payload("ok") }),
  "resolve RETRY": resolveReview(ReviewChoice.RETRY),
};

const NO_REVIEW = "PAWL_REVIEW_NOT_FOUND";
const PROCEEDS = "operationIntended: proceed";
const REUSES = "existing: reuse";

/** At 6,000 ms, when every earlier call can have no more effect. */
const operationOutcomes: Readonly<Record<string, readonly string[]>> = {
  "INTENDED, call open": [
    "existing: proceed",
    "operationDoubted: lookUp",
    "operationObserved",
    "operationObserved",
    "operationObserved",
    "operationObserved",
    STALE,
    ILLEGAL,
    ILLEGAL,
    ILLEGAL,
    NO_REVIEW,
    NO_REVIEW,
  ],
  "INTENDED, no call open": [
    PROCEEDS,
    PROCEEDS,
    "operationObserved",
    "operationObserved",
    "existing",
    STALE,
    STALE,
    ILLEGAL,
    ILLEGAL,
    ILLEGAL,
    NO_REVIEW,
    NO_REVIEW,
  ],
  "INTENDED after RETRY": [
    PROCEEDS,
    PROCEEDS,
    "operationObserved",
    "operationObserved",
    "existing",
    STALE,
    STALE,
    ILLEGAL,
    ILLEGAL,
    ILLEGAL,
    CONFLICT,
    "existing",
  ],
  IN_DOUBT: [
    "existing: lookUp",
    "existing: lookUp",
    "operationObserved",
    "operationObserved",
    "operationObserved",
    "existing",
    STALE,
    "operationReconciled: reuse",
    "operationReconciled operationIntended: proceed",
    "operationReconciled: lookUp",
    NO_REVIEW,
    NO_REVIEW,
  ],
  NEEDS_REVIEW: [
    "leaseEnded: review",
    "leaseEnded: review",
    "operationObserved reviewResolved",
    "operationObserved reviewResolved",
    "operationObserved reviewResolved",
    "existing",
    STALE,
    ILLEGAL,
    ILLEGAL,
    ILLEGAL,
    "reviewResolved",
    "reviewResolved",
  ],
  OBSERVED: [
    REUSES,
    REUSES,
    "existing",
    CONFLICT,
    CONFLICT,
    CONFLICT,
    "existing",
    REUSES,
    REUSES,
    REUSES,
    NO_REVIEW,
    NO_REVIEW,
  ],
  REFUSED: [
    REUSES,
    REUSES,
    CONFLICT,
    "existing",
    CONFLICT,
    CONFLICT,
    CONFLICT,
    REUSES,
    REUSES,
    REUSES,
    NO_REVIEW,
    NO_REVIEW,
  ],
  ABANDONED: [
    REUSES,
    REUSES,
    CONFLICT,
    CONFLICT,
    "existing",
    "existing",
    CONFLICT,
    REUSES,
    REUSES,
    REUSES,
    CONFLICT,
    CONFLICT,
  ],
};

describe("every command on an operation in every state", () => {
  it("has every state of the table", () => {
    const states = Object.keys(operations).map((name) => name.split(/[, ]/)[0]);
    expect([...new Set(states)]).toEqual([...operationTransitions.keys()].map(operationStatusName));
  });

  it.each(Object.keys(operations))("%s", (status) => {
    const scenario = Scenario.ofOne()
      .given(
        leased(0, 1),
        declared({ sinkKind: SinkKind.RECONCILABLE }),
        ...(operations[status] ?? []),
      )
      .at(6000);
    const outcomes = Object.values(ofOperation).map((command) => scenario.when(command).summary());
    const names = Object.keys(ofOperation);
    expect(zip(names, outcomes)).toEqual(zip(names, operationOutcomes[status] ?? []));
  });
});

function zip(names: readonly string[], outcomes: readonly string[]): Row {
  return Object.fromEntries(names.map((name, index) => [name, outcomes[index] ?? ""]));
}

const runs: Readonly<Record<string, readonly EventBody[]>> = {
  RUNNING: [],
  "RUNNING, asked to stop": [leased(0, 1), cancelRequested()],
  PAUSED: [runPaused()],
  COMPLETED: [leased(0, 1), completed(0, 1), runClosed(RunStatus.COMPLETED)],
  FAILED: [leased(0, 1), attemptFailed(0, 1), runClosed(RunStatus.FAILED)],
  CANCELLED: [cancelRequested(), runClosed(RunStatus.CANCELLED)],
  TERMINATED: [runClosed(RunStatus.TERMINATED)],
};

const onePlan = planOf({ only: {} });
const ofRun: Readonly<Record<string, Command>> = {
  "the same start": startRun(onePlan),
  "another start": startRun(onePlan, { fingerprint: fingerprint(9) }),
  PauseRun: pauseRun(),
  ResumeRun: resumeRun(),
  CancelRun: cancelRun(),
  TerminateRun: terminateRun(),
};

const runOutcomes: Readonly<Record<string, readonly string[]>> = {
  RUNNING: ["existing", CONFLICT, "runPaused", "existing", "cancelRequested", "runClosed"],
  "RUNNING, asked to stop": [
    "existing",
    CONFLICT,
    ILLEGAL,
    "existing",
    "existing",
    "leaseEnded runClosed",
  ],
  PAUSED: ["existing", CONFLICT, "existing", "runResumed", "cancelRequested", "runClosed"],
  COMPLETED: ["existing", CONFLICT, OVER, OVER, OVER, OVER],
  FAILED: ["existing", CONFLICT, OVER, OVER, OVER, OVER],
  CANCELLED: ["existing", CONFLICT, OVER, OVER, "existing", OVER],
  TERMINATED: ["existing", CONFLICT, OVER, OVER, OVER, "existing"],
};

describe("every command on a run in every state", () => {
  it("has every state of the table", () => {
    const states = Object.keys(runs).map((name) => name.split(",")[0]);
    expect([...new Set(states)]).toEqual([...runTransitions.keys()].map(runStatusName));
  });

  it.each(Object.keys(runs))("%s", (status) => {
    const scenario = Scenario.ofOne().given(...(runs[status] ?? []));
    const outcomes = Object.values(ofRun).map((command) => scenario.when(command).summary());
    const names = Object.keys(ofRun);
    expect(zip(names, outcomes)).toEqual(zip(names, runOutcomes[status] ?? []));
  });
});
