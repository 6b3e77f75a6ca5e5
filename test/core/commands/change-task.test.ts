import { LeaseEndReason } from "@pawl/proto/log/v1/event_pb.js";
import { RunStatus, TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { nextDeadlineMs } from "@pawl/server/core/deadline.js";
import { specOf } from "@pawl/server/core/plan/change-spec.js";
import { describe, expect, it } from "vitest";
import { changeTask, completeTask, failTask, leaseTask } from "../support/commands.js";
import {
  attemptFailed,
  completed,
  declared,
  doubted,
  leased,
  leaseEnded,
  observedUnknown,
  reviewOpened,
  runClosed,
  runPaused,
  suspended,
} from "../support/events.js";
import { planOf, planTask, type TaskParts } from "../support/plans.js";
import { Scenario } from "../support/scenario.js";
import { payload, START_MS } from "../support/values.js";

const { BACKOFF, BLOCKED, CANCELLED, COMPLETED, FAILED, LEASED, NEEDS_REVIEW, READY, SUSPENDED } =
  TaskStatus;

const runNow = { case: "backoffSkipped" } as const;
const fail = { case: "failed" } as const;
const reset = { case: "attemptsReset" } as const;
const complete = { case: "completed", output: payload("by hand") } as const;
const policyOf = (parts: TaskParts) =>
  ({
    case: "policy",
    retry: parts.retry === undefined ? undefined : planTask("x", parts).retry,
    timeouts: parts.retry === undefined ? planTask("x", parts).timeouts : undefined,
  }) as const;

const plan = planOf({ only: {}, next: { needs: ["only"] } });
const backoff = attemptFailed(0, 1, { next: BACKOFF, readyAtMs: START_MS + 9000 });

/** A run whose first task is in this state. */
function inState(status: TaskStatus): Scenario {
  const scenario = Scenario.started(plan);
  switch (status) {
    case LEASED:
      return scenario.given(leased(0, 1));
    case BACKOFF:
      return scenario.given(leased(0, 1), backoff);
    case SUSPENDED:
      return scenario.given(leased(0, 1), suspended(0, 1));
    case NEEDS_REVIEW:
      return scenario.given(
        ...[leased(0, 1), declared(), observedUnknown(), reviewOpened()],
        leaseEnded(0, 1, { reason: LeaseEndReason.REVIEW, next: NEEDS_REVIEW }),
      );
    case COMPLETED:
      return scenario.given(leased(0, 1), completed(0, 1));
    default:
      return scenario;
  }
}

const taskOf = ({ state }: Scenario) => state.tasks[0];
const versionOf = (scenario: Scenario): number => taskOf(scenario)?.version ?? -1;

function change(scenario: Scenario, order: Parameters<typeof changeTask>[0]): Scenario {
  const { decision } = scenario.when(changeTask(order, versionOf(scenario)), { principal: "ann" });
  expect(decision).toMatchObject({ accepted: true });
  scenario.commit(decision.accepted ? decision.events : []);
  return scenario;
}

describe("ChangeTask, by the state of the task", () => {
  const rows: [string, Parameters<typeof changeTask>[0], TaskStatus[]][] = [
    ["run now", runNow, [BACKOFF]],
    ["complete", complete, [READY, LEASED, BACKOFF, SUSPENDED]],
    ["fail", fail, [READY, LEASED, BACKOFF, SUSPENDED]],
    ["reset", reset, [READY, LEASED, BACKOFF, SUSPENDED]],
    [
      "policy",
      policyOf({ retry: { attemptsMax: 9 } }),
      [READY, LEASED, BACKOFF, SUSPENDED, NEEDS_REVIEW],
    ],
  ];
  it.each(rows)("%s is allowed where it means something", (_name, order, allowed) => {
    for (const status of [READY, LEASED, BACKOFF, SUSPENDED, NEEDS_REVIEW, COMPLETED]) {
      const scenario = inState(status);
      expect(taskOf(scenario)?.status).toBe(status);
      const said = scenario.when(changeTask(order, versionOf(scenario))).summary();
      const isAllowed = /^(operationDoubted )?taskChanged$/.test(said);
      expect([status, isAllowed, said]).toEqual([
        status,
        allowed.includes(status),
        isAllowed ? said : "PAWL_ILLEGAL_TRANSITION",
      ]);
    }
  });

  it("a blocked task is not completed before what it needs, and says so", () => {
    const scenario = inState(READY);
    expect(scenario.state.tasks[1]?.status).toBe(BLOCKED);
    scenario.when(changeTask(complete, 0, { task: 1 })).rejects("PAWL_ILLEGAL_TRANSITION", {
      entity: "task",
      status: "BLOCKED",
      command: "complete it by hand",
      legal: ["complete what it needs", "change its policy"],
    });
  });

  it("a task that waits for a review is decided there", () => {
    const scenario = inState(NEEDS_REVIEW);
    scenario.when(changeTask(fail, versionOf(scenario))).rejects("PAWL_ILLEGAL_TRANSITION", {
      entity: "task",
      status: "NEEDS_REVIEW",
      command: "fail it by hand",
      legal: ["resolve its review"],
    });
  });
});

describe("ChangeTask", () => {
  it("skips a backoff at once", () => {
    expect(taskOf(change(inState(BACKOFF), runNow))).toMatchObject({ status: READY, dueAtMs: 0 });
  });

  it("completes by hand: the output counts, what needs it goes on, and its worker is not heard", () => {
    const scenario = change(inState(LEASED), complete);
    expect(taskOf(scenario)).toMatchObject({
      status: COMPLETED,
      output: payload("by hand"),
      endedByPerson: true,
      leaseEndReason: LeaseEndReason.PERSON,
    });
    expect(scenario.state.tasks[1]?.status).toBe(READY);
    scenario.when(completeTask(1)).rejects("PAWL_LEASE_LOST", {
      held: 1,
      current: 1,
      status: "COMPLETED",
      cause: "person",
    });
  });

  it("fails by hand with the reason, and the last failure as its cause", () => {
    const scenario = change(inState(BACKOFF), fail);
    expect(taskOf(scenario)?.failure).toMatchObject({
      code: "PAWL_FAILED_BY_PERSON",
      message: "by hand",
      cause: { kind: "Boom" },
    });
    expect(scenario.state.status).toBe(RunStatus.FAILED);
  });

  it("leaves no effect unasked: a call under way is in doubt, and a person is asked about it at once", () => {
    const scenario = inState(LEASED).given(declared());
    const { followed } = scenario
      .when(changeTask(complete, versionOf(scenario)))
      .records(doubted(0), expect.objectContaining({ case: "taskChanged" }));
    expect(followed).toMatchObject([{ case: "reviewOpened" }]);
  });

  it("gives all attempts anew, and the numbers go on", () => {
    const scenario = Scenario.ofOne({ retry: { attemptsMax: 2 } }).given(leased(0, 1), backoff);
    change(scenario, reset);
    change(scenario, runNow);
    scenario.given(leased(0, 2));
    expect(scenario.when(failTask(2)).decision).toMatchObject({
      events: [{ value: { attempt: 2, next: BACKOFF } }],
    });
  });
});

describe("ChangeTask of the policy, and beside a pause", () => {
  it("changes policy and timeouts in place of the plan's, at once", () => {
    const scenario = change(inState(LEASED), policyOf({ startToCloseMs: 700, leaseMs: 9000 }));
    change(scenario, policyOf({ retry: { attemptsMax: 1 } }));
    const { state } = scenario;
    const spec = specOf(state, 0);
    expect(spec).toMatchObject({ startToCloseMs: 700, leaseMs: 9000, retry: { attemptsMax: 1 } });
    const task = taskOf(scenario);
    expect(spec && task && nextDeadlineMs(state, task, spec)).toBe(START_MS + 700);
    expect(scenario.when(failTask(1)).decision).toMatchObject({
      events: [{ value: { next: FAILED } }],
    });
  });

  it("refuses attempts that are used already", () => {
    const scenario = inState(BACKOFF);
    const order = policyOf({ retry: { attemptsMax: 1 } });
    scenario.when(changeTask(order, versionOf(scenario))).rejects("PAWL_INVALID_FIELD", {
      field: "policy.retry.attempts_max",
      expected: "above the 1 attempts that are used",
      actual: "1",
    });
  });

  it("refuses a bad policy with its field", () => {
    const order = policyOf({ leaseMs: 5 });
    inState(READY).when(changeTask(order, 0)).rejects("PAWL_INVALID_FIELD", {
      field: "policy.timeouts.lease",
      expected: "1000 ms to 86400000 ms",
      actual: "5 ms",
    });
  });

  it("acts in a paused run, which still offers nothing", () => {
    const scenario = change(inState(BACKOFF).given(runPaused()), runNow);
    expect(taskOf(scenario)?.status).toBe(READY);
    scenario.when(leaseTask(0)).rejects("PAWL_ILLEGAL_TRANSITION");
  });

  it("is recorded with who and why", () => {
    const scenario = inState(BACKOFF);
    const { decision } = scenario.when(changeTask(runNow, 2), { principal: "ann" });
    expect(decision).toMatchObject({
      events: [{ value: { principal: "ann", reason: "by hand", expectedVersion: 2 } }],
    });
  });
});

describe("ChangeTask again", () => {
  it("is existing with the same version and content, and stale with another", () => {
    const scenario = change(inState(BACKOFF), reset);
    scenario.when(changeTask(reset, 2)).isExisting();
    scenario
      .when(changeTask(runNow, 2))
      .rejects("PAWL_STALE_VERSION", { entity: "task", expected: 2, actual: 3 });
  });

  it("is refused in a run that is over, and for a task that it has not", () => {
    const scenario = Scenario.ofOne().given(runClosed(RunStatus.TERMINATED));
    expect(taskOf(scenario)?.status).toBe(CANCELLED);
    scenario.when(changeTask(fail, 1)).rejects("PAWL_RUN_OVER");
    scenario.when(changeTask(fail, 1, { task: 7 })).rejects("PAWL_TASK_NOT_FOUND");
  });
});
