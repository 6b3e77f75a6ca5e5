import { LeaseEndReason } from "@pawl/proto/log/v1/event_pb.js";
import { OperationStatus } from "@pawl/proto/v1/operation_pb.js";
import { ReviewChoice } from "@pawl/proto/v1/review_pb.js";
import { RunStatus, TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { findUnfinished, findViolations } from "@pawl/server/core/invariants.js";
import type {
  MutableOperation,
  MutableReview,
  MutableRun,
  MutableStep,
  MutableTask,
} from "@pawl/server/core/state.js";
import { describe, expect, it } from "vitest";
import {
  attemptFailed,
  completed,
  declared,
  leased,
  leaseEnded,
  observedResult,
  observedUnknown,
  reviewOpened,
  stepRecorded,
} from "./support/events.js";
import { planOf } from "./support/plans.js";
import { Scenario } from "./support/scenario.js";
import { failure, payload, START_MS } from "./support/values.js";

/** Something of everything: tasks 0 COMPLETED, 1 LEASED, 2 BLOCKED, 3 NEEDS_REVIEW, 4 BACKOFF, 5 FAILED, 6 SKIPPED. */
function busyRun(): MutableRun {
  const plan = planOf({
    a: {},
    b: { needs: ["a"] },
    c: { needs: ["b"] },
    d: {},
    e: {},
    f: {},
    g: { needs: ["f"] },
  });
  return Scenario.started(plan).given(
    leased(0, 1),
    stepRecorded(0, 1),
    stepRecorded(0, 1, { name: "roll" }),
    declared({ key: "k0" }),
    observedResult(),
    completed(0, 1),
    leased(1, 1),
    declared({ key: "k1", task: 1 }, { operation: 1, task: 1 }),
    leased(3, 1),
    declared({ key: "k2", task: 3 }, { operation: 2, task: 3 }),
    { ...observedUnknown(), value: { ...observedUnknown().value, operation: 2 } },
    reviewOpened({ operation: 2, task: 3 }),
    leaseEnded(3, 1, { reason: LeaseEndReason.REVIEW, next: TaskStatus.NEEDS_REVIEW }),
    leased(4, 1),
    attemptFailed(4, 1, { next: TaskStatus.BACKOFF, readyAtMs: START_MS + 1000 }),
    leased(5, 1),
    attemptFailed(5, 1),
  ).state;
}

function at<T>(items: readonly T[], index: number): T {
  const item = items[index];
  if (item === undefined) throw new Error(`nothing at ${index}`);
  return item;
}

const subjectsOf = (run: MutableRun): string[] => findViolations(run).map(({ subject }) => subject);

describe("findViolations", () => {
  it("finds nothing in a sound run", () => {
    expect(findViolations(busyRun())).toEqual([]);
    expect(findUnfinished(busyRun())).toEqual([]);
  });

  it.each<[string, Partial<MutableRun>]>([
    ["an event count of 0", { eventCount: 0 }],
    ["version 0", { version: 0 }],
    ["incarnation 0", { incarnation: 0 }],
    ["an open task too few", { openTasks: 3 }],
    ["a failed task too many", { failedTasks: 3 }],
    ["an end while it is open", { closedAtMs: START_MS + 1 }],
    ["no run id", { runId: "" }],
    ["a ledger's kind", { kind: "ledger" }],
    ["a lost task", { tasks: busyRun().tasks.slice(1) }],
    ["a lost key", { operationsByKey: new Map([["k0", 0]]) }],
    ["a lost unsettled operation", { unsettled: new Set([1]) }],
    ["a settled one among the unsettled", { unsettled: new Set([0, 1, 2]) }],
    ["a lost step identity", { stepsByIdentity: new Map() }],
  ])("finds %s", (_name, change) => {
    expect(subjectsOf({ ...busyRun(), ...change })).toContain("run");
  });

  it("finds an end before the start", () => {
    const run = { ...busyRun(), status: RunStatus.FAILED, closedAtMs: START_MS - 1 };
    expect(findViolations(run).map(({ expected }) => expected)).toContain("an end after the start");
  });

  it.each<[string, number, Partial<MutableTask>]>([
    ["a wrong number", 1, { number: 7 }],
    ["a need too many", 1, { openNeeds: 1 }],
    ["a need too few", 2, { openNeeds: 0 }],
    ["BLOCKED after it was READY", 2, { firstReadyAtMs: START_MS }],
    ["LEASED without a session", 1, { sessionId: "" }],
    ["a session without a lease", 4, { sessionId: "s1" }],
    ["LEASED under version 0", 1, { leaseVersion: 0 }],
    ["LEASED before it was READY", 1, { leasedAtMs: START_MS - 1 }],
    ["a report of a lease that never was", 4, { reportedLeaseVersion: 2 }],
    ["COMPLETED without a report", 0, { reportedLeaseVersion: 0 }],
    ["more attempts than leases", 1, { attempt: 2 }],
    ["more used attempts than attempts", 4, { usedAttempts: 2 }],
    ["LEASED beyond its attempts", 1, { attempt: 6, usedAttempts: 5, leaseVersion: 6 }],
    ["FAILED without a failure", 5, { failure: undefined }],
    ["an end while it is open", 1, { closedAtMs: START_MS }],
    ["no end although it ended", 0, { closedAtMs: 0 }],
    ["READY before it first was", 1, { readyAtMs: START_MS - 1 }],
    ["BACKOFF without an end", 4, { dueAtMs: 0 }],
    ["BACKOFF until no time at all", 4, { dueAtMs: Number.NaN }],
    ["NEEDS_REVIEW without a review", 4, { status: TaskStatus.NEEDS_REVIEW }],
    ["READY that never was", 4, { status: TaskStatus.READY, firstReadyAtMs: 0 }],
    ["SKIPPED without a failed need", 1, { status: TaskStatus.SKIPPED }],
  ])("finds a task with %s", (_name, task, change) => {
    const run = busyRun();
    Object.assign(at(run.tasks, task), change);
    expect(subjectsOf(run)).toContain(`task ${task}`);
  });

  it("finds a task that is still open although the run was asked to stop", () => {
    const run = { ...busyRun(), cancelRequestedAtMs: START_MS };
    expect(subjectsOf(run)).toEqual(["task 2", "task 3", "task 4"]);
  });
});

describe("findViolations of the records of a run", () => {
  it.each<[string, number, Partial<MutableStep>]>([
    ["a wrong number", 0, { number: 1 }],
    ["a task that is not there", 0, { task: 9 }],
    ["another name than its index", 0, { name: "other" }],
    ["an event before the one before it", 1, { eventNumber: 3 }],
    ["an event that is not there", 1, { eventNumber: 99 }],
  ])("finds a step with %s", (_name, step, change) => {
    const run = busyRun();
    Object.assign(at(run.steps, step), change);
    expect(subjectsOf(run)).toContain(`step ${step}`);
  });

  it.each<[string, number, Partial<MutableOperation>]>([
    ["a wrong number", 1, { number: 0 }],
    ["no time of settling", 0, { settledAtMs: 0 }],
    ["a time of settling while it is open", 1, { settledAtMs: START_MS }],
    ["a failure beside its result", 0, { failure: failure() }],
    ["a result while it is open", 1, { result: payload(1) }],
    ["a settling call while it is open", 1, { settledIntentId: "i1" }],
    ["a settling event while it is open", 1, { settledEvent: 1 }],
    ["no settling event", 0, { settledEvent: 0 }],
    ["a settling event to come", 0, { settledEvent: 1_000 }],
    ["a place of an outcome while it is open", 1, { settledSeenThrough: 1 }],
    ["a place of an outcome that was looked up", 0, { settledSeenThrough: 1, reconciled: true }],
    ["a mark of a look-up while it is open", 1, { reconciled: true }],
    ["REFUSED without a failure", 0, { status: OperationStatus.REFUSED, result: undefined }],
    ["fewer changes than calls", 1, { calls: 2 }],
    ["no call", 1, { calls: 0 }],
    ["an open call although it is settled", 0, { callOpen: true }],
    ["an open call under a lease that is over", 1, { leaseVersion: 2 }],
    ["intended again before the first time", 1, { intendedAtMs: START_MS - 1 }],
    ["a call that is over before its intent", 1, { callByMs: START_MS - 1 }],
    [
      "a key window at an opaque sink",
      1,
      { declaration: { ...at(busyRun().operations, 1).declaration, keyWindowEndsMs: 5 } },
    ],
    ["no review in NEEDS_REVIEW", 2, { openReview: undefined }],
    ["a review that is not there", 2, { openReview: 1 }],
  ])("finds an operation with %s", (_name, operation, change) => {
    const run = busyRun();
    Object.assign(at(run.operations, operation), change);
    expect(subjectsOf(run)).toContain(`operation ${operation}`);
  });

  it.each<[string, Partial<MutableReview>]>([
    ["a wrong number", { number: 1 }],
    ["a choice while it is open", { choice: ReviewChoice.DONE }],
    ["no choice although it is resolved", { resolvedAtMs: START_MS, waitingTasks: [] }],
    ["another version", { version: 2 }],
    [
      "somebody waiting although it is resolved",
      { resolvedAtMs: START_MS, choice: ReviewChoice.RETRY, version: 2 },
    ],
    ["another operation", { operation: 1 }],
    ["a waiting task that is not there", { waitingTasks: [3, 9] }],
  ])("finds a review with %s", (_name, change) => {
    const run = busyRun();
    Object.assign(at(run.reviews, 0), change);
    expect(subjectsOf(run)).toContain("review 0");
  });
});

describe("findUnfinished", () => {
  it("finds an open run without open tasks", () => {
    const { state } = Scenario.ofOne().given(leased(0, 1), completed(0, 1));
    expect(findUnfinished(state)).toMatchObject([{ subject: "run" }]);
  });

  it("finds an ended run whose unknown outcome nobody is asked about", () => {
    const run = { ...busyRun(), status: RunStatus.TERMINATED };
    at(run.operations, 1).status = OperationStatus.IN_DOUBT;
    expect(findUnfinished(run)).toMatchObject([{ subject: "operation 1" }]);
  });

  it("finds a review that is open although its operation is settled", () => {
    const run = busyRun();
    at(run.operations, 2).status = OperationStatus.OBSERVED;
    expect(findUnfinished(run)).toMatchObject([{ subject: "operation 2" }]);
  });
});
