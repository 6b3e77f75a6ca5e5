import { LeaseEndReason } from "@pawl/proto/log/v1/event_pb.js";
import { RunStatus, TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { describe, expect, it } from "vitest";
import { leaseTask } from "../support/commands.js";
import {
  attemptFailed,
  cancelRequested,
  leased,
  leaseEnded,
  runClosed,
  runFaulted,
  taskReady,
} from "../support/events.js";
import { planOf } from "../support/plans.js";
import { Scenario } from "../support/scenario.js";
import { START_MS } from "../support/values.js";

describe("LeaseTask", () => {
  it("gives a READY task to a worker under the next lease version", () => {
    const { state } = Scenario.ofOne()
      .at(70)
      .when(leaseTask(0, { sessionId: "s9", worker: "box" }))
      .records({
        case: "taskLeased",
        value: {
          ...{ task: 0, leaseVersion: 1, attempt: 1, sessionId: "s9", worker: "box" },
          codeVersion: 0,
        },
      })
      .go();
    expect(state.tasks[0]).toMatchObject({
      status: TaskStatus.LEASED,
      version: 1,
      leasedAtMs: START_MS + 70,
      sessionId: "s9",
      worker: "box",
    });
  });

  it("keeps the attempt after a lease that used none, but never the lease version", () => {
    Scenario.ofOne()
      .given(leased(0, 1), leaseEnded(0, 1))
      .when(leaseTask(0))
      .records(leased(0, 2, { attempt: 1 }));
  });

  it("counts the next attempt after a failed one", () => {
    Scenario.ofOne()
      .given(
        leased(0, 1),
        attemptFailed(0, 1, { next: TaskStatus.BACKOFF, readyAtMs: START_MS + 1 }),
        taskReady(0),
      )
      .when(leaseTask(0))
      .records(leased(0, 2, { attempt: 2 }));
  });

  it("forgets why an earlier lease ended", () => {
    const { state } = Scenario.ofOne().given(
      leased(0, 1),
      leaseEnded(0, 1, { reason: LeaseEndReason.RETURNED }),
      leased(0, 2, { attempt: 1 }),
    );
    expect(state.tasks[0]?.leaseEndReason).toBe(LeaseEndReason.UNSPECIFIED);
  });
});

describe("LeaseTask is refused", () => {
  it("for a task that the run has not, before all else", () => {
    Scenario.ofOne()
      .given(runClosed(RunStatus.TERMINATED))
      .when(leaseTask(1))
      .rejects("PAWL_TASK_NOT_FOUND", { entity: "task", id: "1" });
  });

  it("for every task of a run that is over", () => {
    Scenario.ofOne()
      .given(runClosed(RunStatus.TERMINATED))
      .when(leaseTask(0))
      .rejects("PAWL_RUN_OVER", {
        entity: "run",
        status: "TERMINATED",
        command: "LeaseTask",
        legal: [],
      });
  });

  it("for every task of a run that is set aside", () => {
    Scenario.ofOne().given(runFaulted()).when(leaseTask(0)).rejects("PAWL_RUN_OVER");
  });

  it.each([
    ["LEASED", Scenario.ofOne().given(leased(0, 1)), 0],
    ["BLOCKED", Scenario.started(planOf({ a: {}, b: { needs: ["a"] } })), 1],
    [
      "CANCELLED",
      Scenario.started(planOf({ a: {}, b: {} })).given(leased(1, 1), cancelRequested()),
      0,
    ],
  ])("for a task that is %s", (status, scenario, task) => {
    scenario.when(leaseTask(task)).rejects("PAWL_ILLEGAL_TRANSITION", {
      entity: "task",
      status,
      command: "LeaseTask",
      legal: [],
    });
  });
});
