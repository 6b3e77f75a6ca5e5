import { ReviewChoice } from "@pawl/proto/v1/review_pb.js";
import { RunStatus, TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { legalChoices } from "@pawl/server/core/review-choices.js";
import { explainRun } from "@pawl/server/core/view/why.js";
import { describe, expect, it } from "vitest";
import { cancelRun, completeTask, failTask, resolveReview } from "../support/commands.js";
import { callsStopping, leased, tasksCalled } from "../support/events.js";
import { planOf } from "../support/plans.js";
import { Scenario } from "../support/scenario.js";
import { failure, payload, START_MS } from "../support/values.js";

const { ACCEPT, DONE, FAIL, RETRY, SKIP } = ReviewChoice;
const { CANCELLED, COMPLETED, NEEDS_REVIEW, READY } = TaskStatus;
const output = payload("what it returned");
const unvisited = ['operation "pay"', 'child "kid" under "2"'];

/** A run of one task whose policy allows one attempt, at work. */
function atWork(): Scenario {
  return Scenario.started(planOf({ only: { retry: { attemptsMax: 1 } } })).given(leased(0, 1));
}

function commit(scenario: Scenario, command: Parameters<Scenario["when"]>[0]): void {
  const { decision } = scenario.when(command);
  scenario.commit(decision.accepted ? decision.events : []);
}

const statusOf = ({ state }: Scenario): TaskStatus | undefined => state.tasks[0]?.status;

describe("a return that did not reach everything recorded", () => {
  function held(): Scenario {
    const scenario = atWork();
    commit(scenario, completeTask(1, { output, unvisited }));
    return scenario;
  }

  it("is held, and says what was not reached", () => {
    const scenario = held();
    expect(statusOf(scenario)).toBe(NEEDS_REVIEW);
    const [review] = scenario.state.reviews;
    expect(review?.known).toBe(
      'The code of task "only" returned at worker "w1", but it did not reach what is recorded: operation "pay", child "kid" under "2". ' +
        "What it returned is kept: accept it, or bring back the code that made the records and retry.",
    );
    expect(review && legalChoices(scenario.state, review)).toEqual([
      ...[ACCEPT, RETRY, DONE, SKIP, FAIL],
    ]);
    expect(explainRun(scenario.state, { nowMs: START_MS })).toBe(
      'Task "only" waits for a person: its code returned, but did not reach all that is recorded of it; say whether that stands, in its review.',
    );
  });

  it("stands when a person accepts it", () => {
    const scenario = held();
    commit(scenario, resolveReview(ACCEPT));
    expect(scenario.state.tasks[0]).toMatchObject({ status: COMPLETED, output });
    expect(scenario.state.status).toBe(RunStatus.COMPLETED);
    expect(scenario.state.reviews[0]?.returned).toBeUndefined();
  });

  it("is what was reported, when it is sent again after a person has decided", () => {
    const scenario = held();
    commit(scenario, resolveReview(RETRY));
    scenario.when(completeTask(1, { output, unvisited })).isExisting();
  });

  it("is what was reported, whatever a person completes the task with instead", () => {
    const scenario = held();
    commit(scenario, resolveReview(SKIP));
    scenario.when(completeTask(1, { output, unvisited })).isExisting();
    scenario.when(completeTask(1, { output })).rejects("PAWL_FINGERPRINT_CONFLICT");
  });

  it("of a call that was asked to stop waits for nobody", () => {
    const scenario = atWork().given(tasksCalled(0, 1, ["a"]), leased(1, 1), callsStopping(0, [1]));
    commit(scenario, completeTask(1, { task: 1, output, unvisited }));
    expect(scenario.state.tasks[1]?.status).toBe(COMPLETED);
  });

  it("is made anew when a person says so, whatever attempts are left", () => {
    const scenario = held();
    commit(scenario, resolveReview(RETRY));
    expect(statusOf(scenario)).toBe(READY);
  });

  it("is answered as existing when it is reported again", () => {
    held().when(completeTask(1, { output, unvisited })).isExisting();
  });

  it("is not held once the run was asked to stop", () => {
    const scenario = atWork();
    commit(scenario, cancelRun());
    commit(scenario, completeTask(1, { output, unvisited }));
    expect([COMPLETED, CANCELLED]).toContain(statusOf(scenario));
    expect(scenario.state.reviews).toEqual([]);
  });
});

describe("an attempt that asks for a review", () => {
  const says = failure({ retryable: false, kind: "RecordMismatch" });
  function misfit(): Scenario {
    const scenario = atWork();
    commit(scenario, failTask(1, { failure: says, forReview: true }));
    return scenario;
  }

  it("gets one, also when its policy would fail the task", () => {
    const scenario = misfit();
    expect(statusOf(scenario)).toBe(NEEDS_REVIEW);
    const [review] = scenario.state.reviews;
    expect(review?.known).toBe(
      'The code of task "only" at worker "w1" does not fit what is recorded: it broke',
    );
    expect(review && legalChoices(scenario.state, review)).toEqual([RETRY, DONE, SKIP, FAIL]);
    expect(explainRun(scenario.state, { nowMs: START_MS })).toBe(
      'Task "only" waits for a person: its code does not fit what is recorded: it broke; serve code that does, and resolve its review.',
    );
  });

  it("goes on when a person says so", () => {
    const scenario = misfit();
    commit(scenario, resolveReview(RETRY));
    expect(statusOf(scenario)).toBe(READY);
  });

  it("is what was reported, when it is sent again after a person has completed the task", () => {
    const scenario = misfit();
    commit(scenario, resolveReview(SKIP));
    expect(statusOf(scenario)).toBe(COMPLETED);
    scenario.when(failTask(1, { failure: says, forReview: true })).isExisting();
    scenario.when(completeTask(1, { output })).rejects("PAWL_FINGERPRINT_CONFLICT");
  });

  it("offers no return to accept", () => {
    misfit().when(resolveReview(ACCEPT)).rejects("PAWL_ILLEGAL_TRANSITION");
  });

  it("is cancelled, once the run was asked to stop", () => {
    const scenario = atWork();
    commit(scenario, cancelRun());
    commit(scenario, failTask(1, { failure: says, forReview: true }));
    expect(statusOf(scenario)).toBe(CANCELLED);
  });
});
