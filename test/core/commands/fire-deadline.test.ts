import { LeaseEndReason, TaskTimeoutKind } from "@pawl/proto/log/v1/event_pb.js";
import { FailureOrigin } from "@pawl/proto/v1/failure_pb.js";
import type { FailureShape } from "@pawl/proto/v1/failure_wire.js";
import { RunStatus, TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { describe, expect, it } from "vitest";
import { fireDeadline } from "../support/commands.js";
import {
  attemptFailed,
  cancelRequested,
  declared,
  doubted,
  leased,
  leaseEnded,
  observedUnknown,
  reviewOpened,
  runClosed,
  runFaulted,
  taskReady,
  timedOut,
} from "../support/events.js";
import { planOf, type TaskParts } from "../support/plans.js";
import { Scenario } from "../support/scenario.js";
import { failure, START_MS } from "../support/values.js";

const { SCHEDULE_TO_CLOSE, SCHEDULE_TO_START } = TaskTimeoutKind;
const { BACKOFF, CANCELLED, FAILED } = TaskStatus;

function kernelFailure(
  kind: string,
  code: string,
  message: string,
  retryable = false,
): FailureShape {
  return { kind, code, message, stack: "", retryable, origin: FailureOrigin.KERNEL };
}

/** Nothing is due 1 ms before, the event at the point itself. */
function expectDueAt(scenario: Scenario, dueMs: number): void {
  expect(
    scenario
      .at(dueMs - 1)
      .when(fireDeadline())
      .summary(),
  ).toBe("existing");
  scenario.at(dueMs);
}

const waiting = (parts: TaskParts): Scenario => Scenario.ofOne(parts);
const held = (parts: TaskParts): Scenario => Scenario.ofOne(parts).at(100).given(leased(0, 1));
const backingOff = (parts: TaskParts): Scenario =>
  held(parts)
    .at(200)
    .given(attemptFailed(0, 1, { next: BACKOFF, readyAtMs: START_MS + 1200 }));

describe("schedule-to-start", () => {
  const says = kernelFailure(
    "TimedOut",
    "PAWL_NOT_STARTED_IN_TIME",
    'Expected task "only" to keep schedule-to-start (500 ms), but it did not.',
  );

  it("fails a task that nobody took", () => {
    const scenario = waiting({ scheduleToStartMs: 500 });
    expectDueAt(scenario, 500);
    const { followed } = scenario
      .when(fireDeadline())
      .records(timedOut(0, SCHEDULE_TO_START, says));
    expect(followed).toMatchObject([
      { case: "runClosed", value: { status: RunStatus.FAILED, failure: { cause: says } } },
    ]);
  });

  it("begins anew each time the task is READY, and names the failure before it", () => {
    const scenario = backingOff({ scheduleToStartMs: 500 }).at(1300).given(taskReady(0));
    expectDueAt(scenario, 1800);
    scenario
      .when(fireDeadline())
      .records(timedOut(0, SCHEDULE_TO_START, { ...says, cause: failure() }));
  });

  it("is due at once when it is 0", () => {
    expect(waiting({ scheduleToStartMs: 0 }).when(fireDeadline()).summary()).toBe("taskTimedOut");
  });

  it("is over once somebody took the task, and while it backs off", () => {
    held({ scheduleToStartMs: 500 }).at(9000).when(fireDeadline()).isExisting();
    backingOff({ scheduleToStartMs: 500 }).at(900).when(fireDeadline()).isExisting();
  });
});

describe("start-to-close", () => {
  it("ends the attempt, which may be tried again", () => {
    const scenario = held({ startToCloseMs: 300, retry: { initialMs: 1000, jitter: 0 } });
    expectDueAt(scenario, 400);
    scenario.when(fireDeadline()).records(
      leaseEnded(0, 1, {
        reason: LeaseEndReason.TIMED_OUT,
        next: BACKOFF,
        readyAtMs: START_MS + 1400,
        usesAttempt: true,
        failure: kernelFailure(
          "TimedOut",
          "PAWL_ATTEMPT_TIMED_OUT",
          "Expected the attempt to end within start-to-close (300 ms), but it did not.",
          true,
        ),
      }),
    );
  });

  it("puts a call that is under way in doubt", () => {
    const scenario = held({ startToCloseMs: 300 }).given(
      declared({}, { callByMs: START_MS + 1100 }),
    );
    expect(scenario.at(400).when(fireDeadline()).summary()).toBe("operationDoubted leaseEnded");
  });

  it("counts from each claim", () => {
    const scenario = backingOff({ startToCloseMs: 300 }).at(1300).given(taskReady(0), leased(0, 2));
    expectDueAt(scenario, 1600);
    expect(scenario.when(fireDeadline()).summary()).toBe("leaseEnded");
  });
});

describe("schedule-to-close", () => {
  const says = kernelFailure(
    "TimedOut",
    "PAWL_TASK_TIMED_OUT",
    'Expected task "only" to keep schedule-to-close (5000 ms), but it did not.',
  );
  const parts = { scheduleToCloseMs: 5000 };

  it("fails a READY task", () => {
    const scenario = waiting(parts);
    expectDueAt(scenario, 5000);
    scenario.when(fireDeadline()).records(timedOut(0, SCHEDULE_TO_CLOSE, says));
  });

  it("fails a leased one, ends its lease, and puts its call in doubt", () => {
    const scenario = held(parts).given(declared({}, { callByMs: START_MS + 1100 }));
    expectDueAt(scenario, 5000);
    const { state } = scenario
      .when(fireDeadline())
      .records(doubted(), timedOut(0, SCHEDULE_TO_CLOSE, says))
      .go();
    expect(state.tasks[0]).toMatchObject({
      status: FAILED,
      sessionId: "",
      leaseEndReason: LeaseEndReason.TIMED_OUT,
    });
  });

  it("fails one that backs off, and counts from the first READY over all attempts", () => {
    const scenario = backingOff(parts);
    scenario
      .at(5000)
      .when(fireDeadline())
      .records(timedOut(0, SCHEDULE_TO_CLOSE, { ...says, cause: failure() }));
  });

  it("counts from the first READY also once it is READY again", () => {
    const scenario = backingOff(parts).at(1200).given(taskReady(0));
    expectDueAt(scenario, 5000);
    expect(scenario.when(fireDeadline()).summary()).toBe("taskTimedOut");
  });

  it("of a task that waits for others begins when they are done", () => {
    const scenario = Scenario.started(planOf({ a: {}, only: { ...parts, needs: ["a"] } }));
    scenario.at(9000).when(fireDeadline(1)).isExisting();
  });

  it("does not take a task from the person who reviews it, but acts right after", () => {
    const scenario = held(parts).given(
      declared({}, { callByMs: START_MS + 1100 }),
      observedUnknown(),
      reviewOpened(),
    );
    scenario.given(
      leaseEnded(0, 1, { reason: LeaseEndReason.REVIEW, next: TaskStatus.NEEDS_REVIEW }),
    );
    scenario.at(9000).when(fireDeadline()).isExisting();
  });

  it("goes before every other deadline of the task", () => {
    const all = { ...parts, scheduleToStartMs: 5000, startToCloseMs: 4900, cancelGraceMs: 4900 };
    expect(waiting(all).at(5000).when(fireDeadline()).summary()).toBe("taskTimedOut");
    expect(held(all).given(cancelRequested()).at(5000).when(fireDeadline()).summary()).toBe(
      "taskTimedOut",
    );
  });
});

describe("the end of a backoff", () => {
  it("makes the task READY", () => {
    const scenario = backingOff({});
    expectDueAt(scenario, 1200);
    const { state } = scenario.when(fireDeadline()).records(taskReady(0)).go();
    expect(state.tasks[0]).toMatchObject({
      status: TaskStatus.READY,
      readyAtMs: START_MS + 1200,
      dueAtMs: 0,
    });
  });
});

describe("the grace after cancellation", () => {
  it("ends the lease when it is over, before start-to-close does", () => {
    const scenario = held({ cancelGraceMs: 700, startToCloseMs: 900 })
      .at(300)
      .given(cancelRequested());
    expectDueAt(scenario, 1000);
    const event = leaseEnded(0, 1, {
      reason: LeaseEndReason.GRACE_OVER,
      next: CANCELLED,
      usesAttempt: true,
    });
    const { followed } = scenario.when(fireDeadline()).records(event);
    expect(followed).toMatchObject([{ case: "runClosed", value: { status: RunStatus.CANCELLED } }]);
  });

  it("is 10 s unless the plan says otherwise, and none when it says 0", () => {
    expectDueAt(held({}).at(300).given(cancelRequested()), 10_300);
    expect(held({ cancelGraceMs: 0 }).given(cancelRequested()).when(fireDeadline()).summary()).toBe(
      "leaseEnded",
    );
  });
});

describe("a deadline that came too late or twice", () => {
  const all = { scheduleToStartMs: 1, startToCloseMs: 1, scheduleToCloseMs: 1 };

  it("does nothing to a task that has ended or to a run that is over", () => {
    const ended = waiting(all);
    ended.commit([timedOut(0, SCHEDULE_TO_CLOSE)]);
    ended.at(9000).when(fireDeadline()).isExisting();
  });

  it("does nothing in a run that is set aside", () => {
    waiting(all).given(runFaulted()).at(9000).when(fireDeadline()).isExisting();
  });

  it("does nothing to a task that waits for others", () => {
    const scenario = Scenario.started(planOf({ a: {}, b: { ...all, needs: ["a"] } }));
    scenario.at(9000).when(fireDeadline(1)).isExisting();
  });

  it("is refused for a task that the run has not", () => {
    waiting(all)
      .given(runClosed(RunStatus.TERMINATED))
      .when(fireDeadline(3))
      .rejects("PAWL_TASK_NOT_FOUND");
  });
});
