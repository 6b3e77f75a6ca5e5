import { LeaseEndReason } from "@pawl/proto/log/v1/event_pb.js";
import { OperationStatus } from "@pawl/proto/v1/operation_pb.js";
import { ReviewChoice, ReviewSubject } from "@pawl/proto/v1/review_pb.js";
import { RunStatus, TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { describe, expect, it } from "vitest";
import { terminateRun } from "../support/commands.js";
import {
  cancelRequested,
  completed,
  declared,
  doubted,
  leased,
  leaseEnded,
  observedNotSent,
  reviewOpened,
  reviewResolved,
  runClosed,
  runFaulted,
} from "../support/events.js";
import { planOf } from "../support/plans.js";
import { Scenario } from "../support/scenario.js";

const { CANCELLED, COMPLETED } = TaskStatus;
const closed = runClosed(RunStatus.TERMINATED, {
  principal: "local",
  failure: expect.objectContaining({
    kind: "Terminated",
    code: "PAWL_RUN_TERMINATED",
    message: "now",
  }),
});
const ended = (task: number) =>
  leaseEnded(task, 1, { reason: LeaseEndReason.TERMINATED, next: CANCELLED, usesAttempt: true });

describe("TerminateRun", () => {
  it("ends every lease without grace, and every open task with the run", () => {
    const plan = planOf({ done: {}, a: {}, b: {}, ready: {}, blocked: { needs: ["a"] } });
    const scenario = Scenario.started(plan).given(
      leased(0, 1),
      completed(0, 1),
      leased(1, 1),
      leased(2, 1),
    );
    scenario.when(terminateRun()).records(ended(1), ended(2), closed);
    expect(scenario.state.tasks.map(({ status }) => status)).toEqual([
      COMPLETED,
      CANCELLED,
      CANCELLED,
      CANCELLED,
      CANCELLED,
    ]);
    expect(scenario.state).toMatchObject({
      status: RunStatus.TERMINATED,
      openTasks: 0,
      version: 2,
    });
  });

  it("records who did it", () => {
    Scenario.ofOne()
      .when(terminateRun(), { principal: "ann" })
      .records({ ...closed, value: { ...closed.value, principal: "ann" } });
  });

  it("puts open calls in doubt, and asks a person about each", () => {
    const scenario = Scenario.ofOne().given(
      leased(0, 1),
      declared(),
      declared({ key: "k2" }, { operation: 1 }),
    );
    const { followed } = scenario
      .when(terminateRun())
      .records(doubted(0), doubted(1), ended(0), closed);
    expect(followed).toEqual(
      [0, 1].map((operation) =>
        reviewOpened({ review: operation, operation, known: expect.any(String) }),
      ),
    );
    expect(scenario.state.operations.map(({ status }) => status)).toEqual([
      OperationStatus.NEEDS_REVIEW,
      OperationStatus.NEEDS_REVIEW,
    ]);
    expect(scenario.state.reviews[0]?.known).toContain("its run is over, so no task will find out");
  });

  it("asks nobody about a call that never left", () => {
    const scenario = Scenario.ofOne().given(leased(0, 1), declared(), observedNotSent());
    scenario.when(terminateRun()).records(ended(0), closed).andFollows();
  });

  it("ends a run in its grace as well", () => {
    Scenario.ofOne()
      .given(leased(0, 1), cancelRequested())
      .when(terminateRun(2))
      .records(ended(0), closed);
  });

  it("answers the question whether a run that was set aside may go on", () => {
    const scenario = Scenario.ofOne().given(
      runFaulted(),
      reviewOpened({ subject: ReviewSubject.RUN }),
    );
    scenario
      .when(terminateRun())
      .records(closed, reviewResolved(ReviewChoice.ABANDON, { reason: "now" }));
    expect(scenario.state).toMatchObject({ status: RunStatus.TERMINATED, fault: "" });
  });
});

describe("TerminateRun again", () => {
  it("is existing, whatever version it expects", () => {
    Scenario.ofOne().given(runClosed(RunStatus.TERMINATED)).when(terminateRun(1)).isExisting();
  });
});

describe("TerminateRun is refused", () => {
  it.each([
    ["COMPLETED", RunStatus.COMPLETED],
    ["FAILED", RunStatus.FAILED],
    ["CANCELLED", RunStatus.CANCELLED],
  ])("when the run is %s, before a stale version", (status, end) => {
    Scenario.ofOne()
      .given(runClosed(end))
      .when(terminateRun(9))
      .rejects("PAWL_RUN_OVER", { entity: "run", status, command: "TerminateRun", legal: [] });
  });

  it("when the version is another", () => {
    Scenario.ofOne()
      .when(terminateRun(2))
      .rejects("PAWL_STALE_VERSION", { entity: "run", expected: 2, actual: 1 });
  });
});
