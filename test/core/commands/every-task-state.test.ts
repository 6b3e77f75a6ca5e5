import { LeaseEndReason } from "@pawl/proto/log/v1/event_pb.js";
import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { taskStatusName, taskTransitions } from "@pawl/server/core/transitions.js";
import { describe, expect, it } from "vitest";
import {
  completeTask,
  confirmCancel,
  endLease,
  failTask,
  fireDeadline,
  intend,
  leaseTask,
  recordStep,
  suspend,
} from "../support/commands.js";
import {
  attemptFailed,
  cancelRequested,
  completed,
  declared,
  leased,
  leaseEnded,
  observedUnknown,
  reviewOpened,
  suspended,
} from "../support/events.js";
import { type Row, rowOf } from "../support/outcome-row.js";
import { planOf } from "../support/plans.js";
import { planRevised } from "../support/revisions.js";
import { Scenario } from "../support/scenario.js";
import { START_MS } from "../support/values.js";

const { BACKOFF, NEEDS_REVIEW } = TaskStatus;
const LOST = "PAWL_LEASE_LOST";
const ILLEGAL = "PAWL_ILLEGAL_TRANSITION";
const CONFLICT = "PAWL_FINGERPRINT_CONFLICT";

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
  SUPERSEDED: () => ({
    scenario: keptOpen({ x: {} }).given(leased(1, 1), planRevised(2, { other: {} }, [0])),
    task: 1,
    leaseVersion: 1,
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
  SUPERSEDED: row(ILLEGAL, LOST, LOST, LOST, LOST, LOST, LOST, LOST, LOST, "existing"),
};

function row(...outcomes: readonly string[]): Row {
  return rowOf(Object.keys(ofTask), outcomes);
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
