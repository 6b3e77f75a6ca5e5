import { RunStatus, TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { describe, expect, it } from "vitest";
import { cancelRun, leaseTask } from "../support/commands.js";
import {
  attemptFailed,
  cancelRequested,
  completed,
  leased,
  runClosed,
  taskCancelled,
} from "../support/events.js";
import { planOf } from "../support/plans.js";
import { Scenario } from "../support/scenario.js";
import { START_MS } from "../support/values.js";

const plan = planOf({ ready: {}, held: {}, blocked: { needs: ["held"] }, backoff: {} });
const { BACKOFF, CANCELLED, COMPLETED, FAILED, LEASED } = TaskStatus;

function busy(): Scenario {
  return Scenario.started(plan).given(
    leased(1, 1),
    leased(3, 1),
    attemptFailed(3, 1, { next: BACKOFF, readyAtMs: START_MS + 1000 }),
  );
}

const statuses = (scenario: Scenario): TaskStatus[] =>
  scenario.state.tasks.map(({ status }) => status);

describe("CancelRun", () => {
  it("cancels at once what nobody holds, and leaves what is held its grace", () => {
    const scenario = busy().at(50);
    scenario
      .when(cancelRun(), { principal: "ann" })
      .records({ case: "cancelRequested", value: { reason: "enough", principal: "ann" } });
    expect(statuses(scenario)).toEqual([CANCELLED, LEASED, CANCELLED, CANCELLED]);
    expect(scenario.state).toMatchObject({
      status: RunStatus.RUNNING,
      cancelRequestedAtMs: START_MS + 50,
      cancelReason: "enough",
      openTasks: 1,
      version: 2,
    });
  });

  it("ends the run at once when nothing is held", () => {
    const { followed } = Scenario.ofOne().when(cancelRun()).records(cancelRequested());
    expect(followed).toMatchObject([
      {
        case: "runClosed",
        value: {
          status: RunStatus.CANCELLED,
          failure: { code: "PAWL_RUN_CANCELLED", message: "enough" },
        },
      },
    ]);
  });

  it("offers nothing any more, and does not open what a completion would have opened", () => {
    const scenario = busy().given(cancelRequested());
    scenario.when(leaseTask(0)).rejects("PAWL_ILLEGAL_TRANSITION");
    expect(scenario.commit([completed(1, 1)])).toMatchObject([
      { value: { status: RunStatus.CANCELLED } },
    ]);
    expect(statuses(scenario)).toEqual([CANCELLED, COMPLETED, CANCELLED, CANCELLED]);
  });

  it("is CANCELLED in the end although a task failed before", () => {
    const scenario = Scenario.started(planOf({ a: {}, b: {} })).given(
      leased(0, 1),
      leased(1, 1),
      attemptFailed(0, 1),
      cancelRequested(),
    );
    expect(statuses(scenario)).toEqual([FAILED, LEASED]);
    expect(scenario.commit([taskCancelled(1, 1)])).toMatchObject([
      { value: { status: RunStatus.CANCELLED } },
    ]);
  });

  it.each([undefined, 1])("takes the expected version %s", (version) => {
    busy().when(cancelRun(version)).records(cancelRequested());
  });
});

describe("CancelRun again", () => {
  it("is existing while the grace runs and after the run is cancelled, whatever version it expects", () => {
    const scenario = busy().given(cancelRequested());
    scenario.when(cancelRun(1)).isExisting();
    scenario.commit([taskCancelled(1, 1)]);
    scenario.when(cancelRun(1)).isExisting();
  });
});

describe("CancelRun is refused", () => {
  it.each([
    ["COMPLETED", RunStatus.COMPLETED],
    ["FAILED", RunStatus.FAILED],
    ["TERMINATED", RunStatus.TERMINATED],
  ])("when the run is %s, before a stale version", (status, end) => {
    Scenario.ofOne()
      .given(runClosed(end))
      .when(cancelRun(9))
      .rejects("PAWL_RUN_OVER", { entity: "run", status, command: "CancelRun", legal: [] });
  });

  it("when the version is another", () => {
    busy()
      .when(cancelRun(2))
      .rejects("PAWL_STALE_VERSION", { entity: "run", expected: 2, actual: 1 });
  });
});
