import { RunStatus, TaskStatus } from "@pawl/proto/v1/run_pb.js";
import type { ApplyHooks } from "@pawl/server/core/apply/hooks.js";
import { taskStatusName } from "@pawl/server/core/transitions.js";
import { describe, expect, it } from "vitest";
import { completeTask, failTask } from "./support/commands.js";
import { attemptFailed, completed, leased } from "./support/events.js";
import { planOf, type TaskParts } from "./support/plans.js";
import { Scenario } from "./support/scenario.js";
import { failure, START_MS } from "./support/values.js";

const diamond = {
  top: {},
  left: { needs: ["top"] },
  right: { needs: ["top"] },
  bottom: { needs: ["left", "right"] },
};

const statuses = ({ state }: Scenario): string[] =>
  state.tasks.map(({ status }) => taskStatusName(status));

/** Leases and completes tasks, one after the other, and commits each. */
function complete(scenario: Scenario, ...tasks: readonly number[]): void {
  for (const task of tasks) {
    scenario.given(leased(task, 1));
    scenario.commit([completed(task, 1)]);
  }
}

function fail(scenario: Scenario, task: number): ReturnType<Scenario["commit"]> {
  scenario.given(leased(task, 1));
  return scenario.commit([attemptFailed(task, 1)]);
}

describe("a task that needs others", () => {
  it("is READY in the commit of the last of them, and not before", () => {
    const scenario = Scenario.started(planOf(diamond));
    complete(scenario, 0);
    expect(statuses(scenario)).toEqual(["COMPLETED", "READY", "READY", "BLOCKED"]);
    complete(scenario, 2);
    expect(statuses(scenario)).toEqual(["COMPLETED", "READY", "COMPLETED", "BLOCKED"]);
    complete(scenario.at(90), 1);
    expect(statuses(scenario)).toEqual(["COMPLETED", "COMPLETED", "COMPLETED", "READY"]);
    expect(scenario.state.tasks[3]).toMatchObject({ firstReadyAtMs: START_MS + 90, version: 1 });
    complete(scenario, 3);
    expect(scenario.state.status).toBe(RunStatus.COMPLETED);
  });

  it("is announced once, by the last of a wide join", () => {
    const ready: number[] = [];
    const hooks: ApplyHooks = {
      taskReady: (_run, task) => ready.push(task),
      taskMoved: () => undefined,
      leaseOver: () => undefined,
      cancelAsked: () => undefined,
      outcomeCame: () => undefined,
      proposalMoved: () => undefined,
      obliged: () => undefined,

      deadlineMoved: () => undefined,
      runClosed: () => undefined,
    };
    const names = Array.from({ length: 20 }, (_, number) => `t${number}`);
    const parts: Record<string, TaskParts> = Object.fromEntries(names.map((name) => [name, {}]));
    const scenario = Scenario.started(planOf({ ...parts, join: { needs: names } }), hooks);
    expect(ready).toEqual(names.map((_, number) => number));
    ready.length = 0;
    complete(scenario, ...names.map((_, number) => number));
    expect(ready).toEqual([20]);
  });
});

describe("a task that failed for good", () => {
  it("skips all that need it, however far, and lets the other branches finish before the run is FAILED", () => {
    const scenario = Scenario.started(
      planOf({ ...diamond, after: { needs: ["bottom"] }, free: {}, later: { needs: ["free"] } }),
    );
    complete(scenario, 0);
    expect(fail(scenario, 1)).toEqual([]);
    expect(statuses(scenario)).toEqual([
      "COMPLETED",
      "FAILED",
      "READY",
      "SKIPPED",
      "SKIPPED",
      "READY",
      "BLOCKED",
    ]);
    expect(scenario.state).toMatchObject({
      status: RunStatus.RUNNING,
      failedTasks: 3,
      openTasks: 3,
    });
    complete(scenario, 2, 5);
    expect(statuses(scenario)).toEqual([
      "COMPLETED",
      "FAILED",
      "COMPLETED",
      "SKIPPED",
      "SKIPPED",
      "COMPLETED",
      "READY",
    ]);
    scenario.given(leased(6, 1));
    expect(scenario.commit([completed(6, 1)])).toMatchObject([
      {
        case: "runClosed",
        value: {
          status: RunStatus.FAILED,
          failure: {
            kind: "TaskFailed",
            code: "PAWL_TASK_FAILED",
            message: 'Task "left" failed for good.',
            cause: failure(),
          },
        },
      },
    ]);
  });

  it("skips a task once, although two of its needs failed", () => {
    const scenario = Scenario.started(planOf(diamond));
    complete(scenario, 0);
    fail(scenario, 1);
    const { version } = scenario.state.tasks[3] ?? { version: -1 };
    expect(fail(scenario, 2)).toMatchObject([{ case: "runClosed" }]);
    expect(scenario.state.tasks[3]).toMatchObject({ status: TaskStatus.SKIPPED, version });
  });
});

describe("the end of a run with a failed task", () => {
  it("ends the run at once when everything else needed it", () => {
    const scenario = Scenario.started(planOf({ a: {}, b: { needs: ["a"] }, c: { needs: ["b"] } }));
    scenario.given(leased(0, 1));
    const { followed } = scenario
      .when(failTask(1, { failure: failure({ retryable: false }) }))
      .records(attemptFailed(0, 1, { failure: failure({ retryable: false }) }));
    expect(followed).toMatchObject([{ case: "runClosed", value: { status: RunStatus.FAILED } }]);
    expect(statuses(scenario)).toEqual(["FAILED", "SKIPPED", "SKIPPED"]);
  });

  it("names the first of several in plan order", () => {
    const scenario = Scenario.started(planOf({ a: {}, b: {} }));
    fail(scenario, 1);
    expect(fail(scenario, 0)).toMatchObject([
      { value: { failure: { message: 'Task "a" failed for good.' } } },
    ]);
  });

  it("ends in one commit with a chain of 5,000 tasks behind it", () => {
    const names = Array.from({ length: 5000 }, (_, number) => `t${number}`);
    const entries = names.map((name, number): [string, TaskParts] => [
      name,
      number === 0 ? {} : { needs: [`t${number - 1}`] },
    ]);
    const scenario = Scenario.started(planOf(Object.fromEntries(entries)));
    scenario.given(leased(0, 1));
    expect(scenario.commit([attemptFailed(0, 1)])).toMatchObject([
      { value: { status: RunStatus.FAILED } },
    ]);
    expect(scenario.state).toMatchObject({ openTasks: 0, failedTasks: 5000 });
  });
});

describe("a completed task", () => {
  it("never runs again: neither lease nor report moves it, and its output stays", () => {
    const scenario = Scenario.started(planOf({ a: {}, b: {} }));
    complete(scenario, 0);
    const before = structuredClone(scenario.state.tasks[0]);
    expect(
      scenario.when({ kind: "LeaseTask", task: 0, sessionId: "s2", worker: "w2" }).summary(),
    ).toBe("PAWL_ILLEGAL_TRANSITION");
    expect(scenario.when(completeTask(2)).summary()).toBe("PAWL_LEASE_LOST");
    expect(scenario.when(failTask(2)).summary()).toBe("PAWL_LEASE_LOST");
    expect(scenario.state.tasks[0]).toEqual(before);
  });
});
