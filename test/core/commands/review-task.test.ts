import { LeaseEndReason } from "@pawl/proto/log/v1/event_pb.js";
import { OperationScope, OperationStatus } from "@pawl/proto/v1/operation_pb.js";
import { OnExhausted } from "@pawl/proto/v1/plan_pb.js";
import { ReviewChoice, ReviewSubject } from "@pawl/proto/v1/review_pb.js";
import { RunStatus, TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { legalChoices } from "@pawl/server/core/review-choices.js";
import { explainRun } from "@pawl/server/core/view/why.js";
import { describe, expect, it } from "vitest";
import {
  cancelRun,
  endLease,
  failTask,
  fireDeadline,
  leaseTask,
  resolveReview,
  terminateRun,
} from "../support/commands.js";
import {
  attemptFailed,
  declared,
  leased,
  leaseEnded,
  observedUnknown,
  reviewOpened,
} from "../support/events.js";
import { planOf, type TaskParts } from "../support/plans.js";
import { Scenario } from "../support/scenario.js";
import { failure, payload, START_MS } from "../support/values.js";

const { ABANDON, DONE, FAIL, NOT_DONE, RETRY, SKIP } = ReviewChoice;
const { COMPLETED, FAILED, LEASED, NEEDS_REVIEW, READY, SKIPPED } = TaskStatus;

/** A run whose first task loses its worker so many times, each time another one. */
function losing(times: number, parts: TaskParts = {}): Scenario {
  const scenario = Scenario.started(planOf({ only: parts, next: { needs: ["only"] } }));
  for (let lost = 1; lost <= times; lost++) {
    scenario.at(lost * 1_000_000);
    expect(scenario.when(leaseTask(0, { worker: `w${lost}` })).summary()).toBe("taskLeased");
    scenario.commit(decidedBy(scenario.when(leaseTask(0, { worker: `w${lost}` }))));
    scenario.commit(decidedBy(scenario.when(endLease(lost, LeaseEndReason.EXPIRED))));
    scenario.at(lost * 1_000_000 + 900_000);
    scenario.commit(decidedBy(scenario.when(fireDeadline(0))));
  }
  return scenario;
}

function decidedBy({ decision }: ReturnType<Scenario["when"]>): Parameters<Scenario["commit"]>[0] {
  return decision.accepted ? decision.events : [];
}

const asking: TaskParts = { retry: { attemptsMax: 2, onExhausted: OnExhausted.ASK } };

/** Its two attempts failed, and a person is asked. */
function exhausted(): Scenario {
  const scenario = Scenario.started(planOf({ only: asking, next: { needs: ["only"] } })).given(
    leased(0, 1),
    attemptFailed(0, 1, { next: TaskStatus.BACKOFF, readyAtMs: START_MS + 1 }),
    { case: "taskReady", value: { task: 0 } },
    leased(0, 2),
  );
  scenario.commit(decidedBy(scenario.when(failTask(2))));
  return scenario;
}

const statuses = ({ state }: Scenario): TaskStatus[] => state.tasks.map(({ status }) => status);

describe("a task that loses its workers", () => {
  it("goes to a person after five attempts in a row, not before, and says what is known", () => {
    expect(statuses(losing(4))[0]).toBe(READY);
    const scenario = losing(5);
    expect(statuses(scenario)[0]).toBe(NEEDS_REVIEW);
    const [review] = scenario.state.reviews;
    expect(review).toMatchObject({ subject: ReviewSubject.TASK, task: 0, waitingTasks: [0] });
    expect(review?.known).toBe(
      'Task "only" lost its worker in 5 attempts in a row ("w1", "w2", "w3", "w4", "w5"): what it does may end every process that does it. Look at the workers\' logs before you decide.',
    );
    expect(scenario.state.tasks[0]?.trouble).toMatchObject({
      workerLosses: 5,
      failures: [1, 2, 3, 4, 5].map((attempt) => ({
        attempt,
        worker: `w${attempt}`,
        kind: "LeaseExpired",
        atMs: START_MS + attempt * 1_000_000,
      })),
    });
    expect(explainRun(scenario.state, { nowMs: START_MS })).toBe(
      'Task "only" waits for a person: 5 attempts in a row lost their workers; resolve its review; 1 more task is open.',
    );
  });

  it("goes to a person as early as its policy says, whatever attempts are left", () => {
    expect(statuses(losing(2, { retry: { workerLossesMax: 2 } }))[0]).toBe(NEEDS_REVIEW);
  });

  it("fails when its attempts are used up first", () => {
    expect(statuses(losing(2, { retry: { attemptsMax: 2 } }))).toEqual([FAILED, SKIPPED]);
  });

  it("begins to count anew when an attempt reports, or its worker gives it back", () => {
    const parts = { retry: { workerLossesMax: 2, attemptsMax: 9 } };
    for (const command of [failTask(2), endLease(2)]) {
      const scenario = losing(1, parts).given(leased(0, 2));
      scenario.commit(decidedBy(scenario.when(command)));
      expect(scenario.state.tasks[0]?.trouble).toMatchObject({ workerLosses: 0 });
    }
  });

  it("is asked about once, and goes on with all its attempts when a person says so", () => {
    const scenario = losing(5);
    expect(scenario.state.reviews).toHaveLength(1);
    scenario
      .when(resolveReview(RETRY))
      .records(expect.objectContaining({ case: "reviewResolved" }));
    expect(scenario.state.tasks[0]).toMatchObject({
      status: READY,
      usedAttempts: 5,
      trouble: { workerLosses: 0, forgivenAttempts: 5 },
    });
    expect(decidedBy(scenario.when(leaseTask(0)))).toMatchObject([{ value: { attempt: 6 } }]);
    expect(explainRun(scenario.state, { nowMs: START_MS })).toMatch(/for attempt 6 of 10, /);
    scenario.when(resolveReview(RETRY)).isExisting();
    scenario.when(resolveReview(FAIL)).rejects("PAWL_FINGERPRINT_CONFLICT");
  });
});

describe("a task whose attempts are used up under the policy ask", () => {
  it("goes to a person with its last failure", () => {
    const scenario = exhausted();
    expect(statuses(scenario)[0]).toBe(NEEDS_REVIEW);
    const [review] = scenario.state.reviews;
    expect(review?.known).toBe(
      'Task "only" used up its 2 attempts; the last one, at worker "w1", failed with Boom: it broke',
    );
    expect(review && legalChoices(scenario.state, review)).toEqual([RETRY, DONE, SKIP, FAIL]);
    expect(explainRun(scenario.state, { nowMs: START_MS })).toBe(
      'Task "only" waits for a person: its 2 attempts are used up, the last one with Boom: it broke; resolve its review; 1 more task is open.',
    );
  });

  it("fails all the same when its failure says that trying again cannot help", () => {
    const scenario = Scenario.ofOne(asking).given(leased(0, 1));
    const says = failure({ retryable: false });
    scenario.commit(decidedBy(scenario.when(failTask(1, { failure: says }))));
    expect(statuses(scenario)).toEqual([FAILED]);
  });

  it.each([
    ["RETRY", RETRY, undefined, [READY, TaskStatus.BLOCKED]],
    ["DONE", DONE, payload("by hand"), [COMPLETED, READY]],
    ["SKIP", SKIP, undefined, [COMPLETED, READY]],
    ["FAIL", FAIL, undefined, [FAILED, SKIPPED]],
  ])("is decided by %s", (_name, choice, result, after) => {
    const scenario = exhausted();
    const command = resolveReview(choice, { result, reason: "I looked" });
    scenario.commit(decidedBy(scenario.when(command, { principal: "ann" })));
    expect(statuses(scenario)).toEqual(after);
    const [task] = scenario.state.tasks;
    expect(task?.output).toEqual(result);
    expect(scenario.state.reviews[0]).toMatchObject({ choice, principal: "ann" });
    if (choice === FAIL) {
      expect(task?.failure).toMatchObject({
        code: "PAWL_FAILED_BY_PERSON",
        message: "I looked",
        cause: { kind: "Boom" },
      });
      expect(scenario.state.status).toBe(RunStatus.FAILED);
    }
  });

  it("offers neither abandon nor not done", () => {
    for (const choice of [ABANDON, NOT_DONE]) {
      exhausted().when(resolveReview(choice)).rejects("PAWL_ILLEGAL_TRANSITION");
    }
  });

  it.each([
    ["cancelled", cancelRun()],
    ["terminated", terminateRun()],
  ])("leaves no open review when its run is %s", (_name, command) => {
    const scenario = exhausted();
    scenario.commit(decidedBy(scenario.when(command)));
    expect(scenario.state.reviews).toMatchObject([{ choice: ABANDON }]);
    expect(statuses(scenario)).toEqual([TaskStatus.CANCELLED, TaskStatus.CANCELLED]);
  });
});

describe("an operation in doubt whose task has ended", () => {
  const plan = planOf({ only: { retry: { attemptsMax: 1 } }, other: {} });

  it("goes to a person at once, although another branch runs on", () => {
    const scenario = Scenario.started(plan).given(leased(0, 1), leased(1, 1), declared());
    const { followed } = scenario
      .when(failTask(1))
      .records(
        expect.objectContaining({ case: "operationDoubted" }),
        expect.objectContaining({ case: "attemptFailed" }),
      );
    expect(followed).toMatchObject([{ case: "reviewOpened", value: { operation: 0, task: 0 } }]);
    const [review] = scenario.state.reviews;
    expect(review?.known).toMatch(/its task is over, so no attempt will find out/);
    expect(review && legalChoices(scenario.state, review)).toEqual([DONE, NOT_DONE, ABANDON]);
    expect(statuses(scenario)).toEqual([FAILED, LEASED]);
  });

  it("is given up when a person says that it did not happen: nobody will call it again", () => {
    const scenario = Scenario.started(plan).given(leased(0, 1), leased(1, 1), declared());
    scenario.commit(decidedBy(scenario.when(failTask(1))));
    scenario
      .at(6000)
      .when(resolveReview(NOT_DONE))
      .records(expect.objectContaining({ case: "reviewResolved" }));
    expect(scenario.state.operations[0]?.status).toBe(OperationStatus.ABANDONED);
  });

  it("may be called again by another task when it is one of the run", () => {
    const scenario = Scenario.started(plan).given(
      leased(0, 1),
      leased(1, 1),
      declared({ scope: OperationScope.RUN }),
      observedUnknown(),
    );
    scenario.commit(decidedBy(scenario.when(failTask(1))));
    const [review] = scenario.state.reviews;
    expect(review && legalChoices(scenario.state, review)).toEqual([
      DONE,
      RETRY,
      NOT_DONE,
      ABANDON,
    ]);
  });
});

describe("NOT_DONE about an operation whose task waits", () => {
  it("has the next attempt call it with the same key", () => {
    const scenario = Scenario.ofOne().given(
      leased(0, 1),
      declared(),
      observedUnknown(),
      reviewOpened(),
      leaseEnded(0, 1, { reason: LeaseEndReason.REVIEW, next: NEEDS_REVIEW }),
    );
    scenario
      .at(6000)
      .when(resolveReview(NOT_DONE))
      .records(expect.objectContaining({ case: "reviewResolved" }));
    expect(scenario.state.operations[0]).toMatchObject({
      status: OperationStatus.INTENDED,
      callOpen: false,
    });
    expect(statuses(scenario)).toEqual([READY]);
  });
});
