import { LeaseEndReason } from "@pawl/proto/log/v1/event_pb.js";
import { SinkKind } from "@pawl/proto/v1/operation_pb.js";
import { ReviewChoice } from "@pawl/proto/v1/review_pb.js";
import { RunStatus, TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { nextDeadlineMs } from "@pawl/server/core/deadline.js";
import { plannedSpec } from "@pawl/server/core/plan/tasks-of-run.js";
import { describe, expect, it } from "vitest";
import {
  cancelRun,
  completeTask,
  endLease,
  failTask,
  fireDeadline,
  intend,
  leaseTask,
  observe,
  pauseRun,
  reconcile,
  recordStep,
  resumeRun,
} from "../support/commands.js";
import {
  attemptFailed,
  callsStopping,
  cancelRequested,
  completed,
  declared,
  leased,
  leaseEnded,
  MAIL_KEY,
  observedNotSent,
  observedResult,
  observedUnknown,
  reviewOpened,
  reviewResolved,
  runClosed,
  runPaused,
  runResumed,
  suspended,
  taskReady,
  tasksCalled,
} from "../support/events.js";
import { planOf, type TaskParts } from "../support/plans.js";
import { Scenario } from "../support/scenario.js";
import { payload, START_MS } from "../support/values.js";

const { BACKOFF, CANCELLED, COMPLETED, LEASED, NEEDS_REVIEW, READY } = TaskStatus;

const statuses = (scenario: Scenario): TaskStatus[] =>
  scenario.state.tasks.map(({ status }) => status);

/** One task under lease 1, its run paused at 100 ms. */
function pausedWhileHeld(parts: TaskParts = {}): Scenario {
  return Scenario.ofOne(parts).given(leased(0, 1)).at(100).given(runPaused());
}

describe("PauseRun", () => {
  it("records who paused the run, when and why", () => {
    const scenario = Scenario.ofOne().at(50);
    scenario
      .when(pauseRun(), { principal: "ann" })
      .records({ case: "runPaused", value: { reason: "look", principal: "ann" } });
    expect(scenario.state).toMatchObject({
      status: RunStatus.PAUSED,
      version: 2,
      pause: { atMs: START_MS + 50, reason: "look", principal: "ann" },
    });
  });

  it("withdraws the offers that no worker has taken, which uses no attempt, and leaves the others", () => {
    const scenario = Scenario.started(planOf({ taken: {}, offered: {} })).given(
      leased(0, 1),
      leased(1, 1),
    );
    scenario
      .when(pauseRun({ untaken: [{ task: 1, leaseVersion: 1 }] }))
      .records(
        runPaused(),
        leaseEnded(1, 1, { reason: LeaseEndReason.WITHDRAWN, next: READY, usesAttempt: false }),
      );
    expect(statuses(scenario)).toEqual([LEASED, READY]);
    expect(scenario.state.tasks[1]).toMatchObject({ usedAttempts: 0, unacknowledgedOffers: 0 });
  });

  it("takes no lease back that is another by now", () => {
    Scenario.ofOne()
      .given(leased(0, 1))
      .when(pauseRun({ untaken: [{ task: 0, leaseVersion: 2 }] }))
      .records(runPaused());
  });

  it("is refused when the version is another, and when the run was asked to stop", () => {
    Scenario.ofOne()
      .when(pauseRun({ expectedVersion: 2 }))
      .rejects("PAWL_STALE_VERSION", { entity: "run", expected: 2, actual: 1 });
    Scenario.ofOne()
      .given(leased(0, 1), cancelRequested())
      .when(pauseRun())
      .rejects("PAWL_ILLEGAL_TRANSITION", {
        entity: "run",
        status: "RUNNING",
        command: "PauseRun",
        legal: ["wait for its end", "TerminateRun"],
      });
  });

  it("is existing in a paused run, whatever version it expects", () => {
    Scenario.ofOne()
      .given(runPaused())
      .when(pauseRun({ expectedVersion: 9 }))
      .isExisting();
  });
});

describe("in a paused run what is reported counts, and nothing is offered", () => {
  it("nothing is offered", () => {
    Scenario.ofOne()
      .given(runPaused())
      .when(leaseTask(0))
      .rejects("PAWL_ILLEGAL_TRANSITION", {
        entity: "run",
        status: "PAUSED",
        command: "LeaseTask",
        legal: ["ResumeRun"],
      });
  });

  it("steps and reports are accepted, and what they open is offered at resume alone", () => {
    const told: number[] = [];
    const hooks = {
      taskReady: (_run: unknown, task: number) => told.push(task),
      taskMoved: () => {},
      leaseOver: () => {},
      cancelAsked: () => {},
      outcomeCame: () => undefined,
      proposalMoved: () => undefined,
      obliged: () => undefined,

      deadlineMoved: () => undefined,
      runClosed: () => {},
    };
    const plan = planOf({ a: {}, b: { needs: ["a"] } });
    const scenario = Scenario.started(plan, hooks).given(leased(0, 1), runPaused());
    scenario.when(recordStep(1)).records({
      case: "stepRecorded",
      value: expect.objectContaining({ task: 0, leaseVersion: 1 }),
    });
    scenario.when(completeTask(1)).records(completed(0, 1));
    expect(statuses(scenario)).toEqual([COMPLETED, READY]);
    expect(told).toEqual([0]);
    scenario.when(resumeRun()).records(runResumed());
    expect(told).toEqual([0, 1]);
  });

  it("the last report ends the run", () => {
    const scenario = pausedWhileHeld();
    const { followed } = scenario.when(completeTask(1)).records(completed(0, 1));
    expect(followed).toMatchObject([{ value: { status: RunStatus.COMPLETED } }]);
    expect(scenario.state.pause).toBeUndefined();
  });
});

describe("in a paused run no effect begins", () => {
  it("a new intent is answered paused, and nothing is recorded", () => {
    pausedWhileHeld()
      .when(intend(1, "i1"))
      .isExisting()
      .answering({ case: "paused", operationKey: MAIL_KEY });
  });

  it.each([
    ["one whose call never left", observedNotSent()],
    ["one in doubt", observedUnknown()],
  ])("so is %s", (_what, event) => {
    Scenario.ofOne()
      .given(leased(0, 1), declared({ sinkKind: SinkKind.RECONCILABLE }), event, runPaused())
      .at(9000)
      .when(intend(1, "i2"))
      .isExisting()
      .answering({ case: "paused", operationKey: MAIL_KEY });
  });

  it("an intent that was recorded before is answered as it was: its call may be under way", () => {
    Scenario.ofOne()
      .given(leased(0, 1), declared(), runPaused())
      .at(400)
      .when(intend(1, "i1"))
      .isExisting()
      .answering({ case: "proceed", operationKey: MAIL_KEY, callMs: 600 });
  });

  it("what is settled is reused, and an observation is recorded", () => {
    const scenario = Scenario.ofOne().given(leased(0, 1), declared(), runPaused());
    scenario
      .when(observe("i1", { case: "result", value: payload("ok") }))
      .records(observedResult());
    scenario
      .when(intend(1, "i2"))
      .isExisting()
      .answering({ case: "reuse", operationKey: MAIL_KEY });
  });

  it("what a look-up did not find is recorded, and not called", () => {
    Scenario.ofOne()
      .given(
        leased(0, 1),
        declared({ sinkKind: SinkKind.RECONCILABLE }),
        observedUnknown(),
        runPaused(),
      )
      .at(9000)
      .when(reconcile(1, "i2", { case: "absent" }))
      .records(expect.objectContaining({ case: "operationReconciled" }))
      .answering({ case: "paused", operationKey: MAIL_KEY });
  });
});

describe("in a paused run time and people", () => {
  it("a lease that ends uses its attempt, and the backoff waits for the resumption", () => {
    const scenario = pausedWhileHeld();
    scenario.when(endLease(1, LeaseEndReason.EXPIRED)).records(
      leaseEnded(0, 1, {
        reason: LeaseEndReason.EXPIRED,
        next: BACKOFF,
        readyAtMs: START_MS + 100 + 800,
        usesAttempt: true,
        failure: expect.objectContaining({ code: "PAWL_LEASE_EXPIRED" }),
      }),
    );
    scenario.at(5000).when(fireDeadline(0)).isExisting();
    scenario.when(resumeRun()).records(runResumed());
    scenario.when(fireDeadline(0)).records(taskReady(0));
  });

  it.each<[string, TaskParts]>([
    ["schedule-to-start", { scheduleToStartMs: 500 }],
    ["schedule-to-close", { scheduleToCloseMs: 500 }],
  ])("%s does nothing before the resumption, and is due then", (_name, parts) => {
    const scenario = Scenario.ofOne(parts).given(runPaused()).at(10_000);
    const { state } = scenario;
    const spec = state.plan.tasks[0];
    const task = state.tasks[0];
    expect(spec && task && nextDeadlineMs(state, task, spec)).toBeUndefined();
    scenario.when(fireDeadline(0)).isExisting();
    scenario.when(resumeRun()).records(runResumed());
    expect(spec && task && nextDeadlineMs(state, task, spec)).toBe(START_MS + 500);
    expect(scenario.when(fireDeadline(0)).summary()).toBe("taskTimedOut");
  });

  it("a sleep is over at the resumption, and not before", () => {
    const scenario = Scenario.ofOne().given(leased(0, 1), suspended(0, 1), runPaused()).at(99_000);
    scenario.when(fireDeadline(0)).isExisting();
    scenario.when(resumeRun()).records(runResumed());
    expect(scenario.when(fireDeadline(0)).summary()).toBe("waitEnded");
  });

  it("the time of an attempt that runs goes on", () => {
    const scenario = pausedWhileHeld({ startToCloseMs: 300, scheduleToCloseMs: 200 });
    const { state } = scenario;
    const spec = state.plan.tasks[0];
    const task = state.tasks[0];
    expect(spec && task && nextDeadlineMs(state, task, spec)).toBe(START_MS + 300);
    expect(scenario.at(250).when(fireDeadline(0)).summary()).toBe("existing");
    expect(scenario.at(300).when(fireDeadline(0)).summary()).toBe("leaseEnded");
  });

  it("a decision about a review is taken, and its task is offered at resume", () => {
    const scenario = Scenario.ofOne().given(
      leased(0, 1),
      declared(),
      observedUnknown(),
      reviewOpened(),
      leaseEnded(0, 1, { reason: LeaseEndReason.REVIEW, next: NEEDS_REVIEW }),
      runPaused(),
      reviewResolved(ReviewChoice.RETRY),
    );
    expect(statuses(scenario)).toEqual([READY]);
    scenario.when(leaseTask(0)).rejects("PAWL_ILLEGAL_TRANSITION");
  });

  it("cancellation acts and ends the pause: what runs may need an effect to clean up", () => {
    const scenario = Scenario.started(planOf({ held: {}, free: {} })).given(
      leased(0, 1),
      runPaused(),
    );
    scenario.when(cancelRun()).records(cancelRequested());
    expect(statuses(scenario)).toEqual([LEASED, CANCELLED]);
    expect(scenario.state).toMatchObject({ status: RunStatus.RUNNING, pause: undefined });
    expect(scenario.when(intend(1, "i1")).summary()).toBe("operationIntended: proceed");
  });

  it("a failed attempt waits for the resumption", () => {
    const scenario = pausedWhileHeld();
    expect(scenario.when(failTask(1)).summary()).toBe("attemptFailed");
  });
});

describe("in a paused run time", () => {
  it("runs on for the grace of a called task that is asked to stop", () => {
    const scenario = Scenario.ofOne().given(leased(0, 1), tasksCalled(0, 1, ["a"]), leased(1, 1));
    const { state } = scenario.at(100).given(callsStopping(0, [1]), runPaused());
    const [, task] = state.tasks;
    const spec = plannedSpec(state, 1);
    expect(spec && task && nextDeadlineMs(state, task, spec)).toBe(
      START_MS + 100 + (spec?.cancelGraceMs ?? 0),
    );
  });
});

describe("ResumeRun", () => {
  it("lets the run go on, with who said so", () => {
    const scenario = Scenario.ofOne().given(runPaused());
    scenario
      .when(resumeRun(2), { principal: "bob" })
      .records({ case: "runResumed", value: { reason: "looked", principal: "bob" } });
    expect(scenario.state).toMatchObject({
      status: RunStatus.RUNNING,
      version: 3,
      pause: undefined,
    });
    expect(scenario.when(leaseTask(0)).summary()).toBe("taskLeased");
  });

  it("ends no later pause when its request is sent again with the version it expected", () => {
    Scenario.ofOne()
      .given(runPaused(), runResumed(), runPaused())
      .when(resumeRun(2))
      .rejects("PAWL_STALE_VERSION", { entity: "run", expected: 2, actual: 4 });
  });

  it("is existing in a run that is not paused, and refused in one that is over", () => {
    Scenario.ofOne().when(resumeRun(9)).isExisting();
    Scenario.ofOne()
      .given(runClosed(RunStatus.TERMINATED))
      .when(resumeRun())
      .rejects("PAWL_RUN_OVER");
  });

  it("lets a task that failed before wait out its backoff", () => {
    const scenario = Scenario.ofOne().given(
      leased(0, 1),
      attemptFailed(0, 1, { next: BACKOFF, readyAtMs: START_MS + 1000 }),
      runPaused(),
    );
    scenario.at(500).when(resumeRun()).records(runResumed());
    scenario.when(fireDeadline(0)).isExisting();
    scenario.at(1000).when(fireDeadline(0)).records(taskReady(0));
  });
});
