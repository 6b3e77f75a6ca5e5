import { InputStatus } from "@pawl/proto/v1/input_pb.js";
import { RunStatus, TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { describe, expect, it } from "vitest";
import {
  inputWait,
  intend,
  leaseTask,
  retryRun,
  sendSignal,
  signalWait,
  suspend,
} from "../support/commands.js";
import {
  attemptFailed,
  cancelRequested,
  completed,
  declared,
  inputDeclared,
  leased,
  observedResult,
  signalDeclared,
  signalReceived,
  signalTaken,
  stepRecorded,
  tasksCalled,
  waitsOpened,
} from "../support/events.js";
import { must } from "../support/go.js";
import { planOf } from "../support/plans.js";
import { Scenario } from "../support/scenario.js";
import { failure } from "../support/values.js";

const { BLOCKED, CANCELLED, COMPLETED, FAILED, READY, SKIPPED } = TaskStatus;

function statuses({ state }: Scenario): TaskStatus[] {
  return state.tasks.map(({ status }) => status);
}

/** a failed; b is completed; c needs both; d needs c; e failed as well; f needs e. */
function failed(): Scenario {
  const plan = planOf({
    a: {},
    b: {},
    c: { needs: ["a", "b"] },
    d: { needs: ["c"] },
    e: {},
    f: { needs: ["e"] },
  });
  const scenario = Scenario.started(plan).given(leased(1, 1), completed(1, 1));
  scenario.given(leased(0, 1), attemptFailed(0, 1), leased(4, 1));
  scenario.commit([attemptFailed(4, 1)]);
  expect(scenario.state.status).toBe(RunStatus.FAILED);
  expect(statuses(scenario)).toEqual([FAILED, COMPLETED, SKIPPED, SKIPPED, FAILED, SKIPPED]);
  return scenario;
}

describe("a retry of a failed run", () => {
  it("opens what failed, and what was skipped for it, with all attempts; the rest is reused", () => {
    const scenario = failed();
    must(scenario, retryRun());
    expect(statuses(scenario)).toEqual([READY, COMPLETED, BLOCKED, BLOCKED, READY, BLOCKED]);
    expect(scenario.state).toMatchObject({ status: RunStatus.RUNNING, generation: 2 });
    scenario.when(leaseTask(0)).records(leased(0, 2, { attempt: 1 }));
  });

  it("of named tasks leaves the others as they failed, and the run fails again for them", () => {
    const scenario = failed();
    must(scenario, retryRun({ tasks: ["a"] }));
    expect(statuses(scenario)).toEqual([READY, COMPLETED, BLOCKED, BLOCKED, FAILED, SKIPPED]);
    scenario.given(
      leased(0, 2, { attempt: 1 }),
      completed(0, 2),
      leased(2, 1),
      completed(2, 1),
      leased(3, 1),
    );
    scenario.commit([completed(3, 1)]);
    expect(scenario.state.status).toBe(RunStatus.FAILED);
  });

  it("is refused for a task that did not fail, or is none, and where nothing failed", () => {
    failed()
      .when(retryRun({ tasks: ["b"] }))
      .rejects("PAWL_ILLEGAL_TRANSITION");
    failed()
      .when(retryRun({ tasks: ["x"] }))
      .rejects("PAWL_TASK_NOT_FOUND");
    Scenario.ofOne().when(retryRun()).rejects("PAWL_ILLEGAL_TRANSITION");
  });
});

describe("a retry of a function", () => {
  it("runs a function again over its records, but for what failed for good", () => {
    const scenario = Scenario.ofOne().given(
      leased(0, 1),
      stepRecorded(0, 1, { name: "draw" }),
      stepRecorded(0, 1, { name: "toss", value: undefined, failure: failure() }),
      declared(),
      observedResult(),
    );
    scenario.commit([attemptFailed(0, 1)]);
    must(scenario, retryRun());
    expect(scenario.state.steps.map(({ name, dropped }) => [name, dropped])).toEqual([
      ["draw", 0],
      ["toss", 2],
    ]);
    scenario.given(leased(0, 2, { attempt: 1 }));
    expect(scenario.when(intend(2, "i9")).summary()).toBe("existing: reuse");
  });

  it("tries the failed calls of a function again, and those that ended with it", () => {
    const scenario = Scenario.ofOne().given(
      leased(0, 1),
      tasksCalled(0, 1, ["a", "b", "c"]),
      leased(1, 1),
      attemptFailed(1, 1),
      leased(2, 1),
      completed(2, 1),
    );
    scenario.commit([attemptFailed(0, 1)]);
    expect(statuses(scenario)).toEqual([FAILED, FAILED, COMPLETED, CANCELLED]);
    must(scenario, retryRun());
    expect(statuses(scenario)).toEqual([READY, READY, COMPLETED, READY]);
    expect([...(scenario.state.tasks[0]?.calls?.open ?? [])]).toEqual([1, 3]);
  });

  it("opens what was cancelled only when it is asked to", () => {
    const scenario = Scenario.started(planOf({ a: {}, b: { needs: ["a"] } }));
    scenario.commit([cancelRequested()]);
    scenario.when(retryRun()).rejects("PAWL_ILLEGAL_TRANSITION");
    must(scenario, retryRun({ cancelled: true }));
    expect(statuses(scenario)).toEqual([READY, BLOCKED]);
    expect(scenario.state).toMatchObject({ cancelRequestedAtMs: 0, status: RunStatus.RUNNING });
  });

  it("is known again by its request", () => {
    const scenario = failed();
    must(scenario, retryRun());
    scenario.when(retryRun()).isExisting();
  });
});

describe("a retry of a function that waited", () => {
  it("begins a wait anew that its task left when it failed, with its question", () => {
    const scenario = Scenario.ofOne().given(
      leased(0, 1),
      waitsOpened(0, 1, [signalDeclared(), inputDeclared()]),
    );
    scenario.commit([attemptFailed(0, 1)]);
    expect(scenario.state.inputs[0]?.status).toBe(InputStatus.WITHDRAWN);
    must(scenario, retryRun());
    expect(scenario.state.waits.map(({ dropped }) => dropped)).toEqual([2, 2]);
    scenario.given(leased(0, 2, { attempt: 1 }));
    must(scenario, suspend(2, { waits: [signalWait(), inputWait()] }));
    const { tasks, inputs } = scenario.state;
    expect(tasks[0]).toMatchObject({ status: TaskStatus.SUSPENDED, openWaits: [2, 3] });
    expect(inputs.map(({ status }) => status)).toEqual([InputStatus.WITHDRAWN, InputStatus.OPEN]);
    must(scenario, sendSignal());
    expect(tasks[0]?.status).toBe(READY);
  });

  it("keeps a wait that had ended, with its outcome", () => {
    const scenario = Scenario.ofOne().given(
      leased(0, 1),
      waitsOpened(0, 1, [signalDeclared()]),
      signalReceived(),
      signalTaken(0, 0),
    );
    scenario.commit([attemptFailed(0, 1)]);
    must(scenario, retryRun());
    expect(scenario.state.waits[0]).toMatchObject({ dropped: 0 });
    expect(scenario.state.tasks[0]?.endedWaits).toEqual([0]);
  });
});
