import { InputStatus } from "@pawl/proto/v1/input_pb.js";
import { RunStatus, TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { OnExisting } from "@pawl/proto/v1/run_service_pb.js";
import { compileRecordedPlan } from "@pawl/server/core/apply.js";
import { restoreRun } from "@pawl/server/core/rows/rows-to-run.js";
import { splitRows } from "@pawl/server/core/rows/run-to-rows.js";
import { describe, expect, it } from "vitest";
import {
  completeTask,
  continueRun,
  failTask,
  leaseTask,
  sendSignal,
  startRun,
} from "../support/commands.js";
import {
  calledTask,
  callsAbandoned,
  callsCancelled,
  callsStopping,
  cancelRequested,
  completed,
  declared,
  doubted,
  inputDeclared,
  leased,
  obligationMade,
  observedNotSent,
  observedResult,
  runContinued,
  runPaused,
  signalDeclared,
  signalReceived,
  signalTaken,
  stepRecorded,
  tasksCalled,
  timerDeclared,
  waitsOpened,
} from "../support/events.js";
import { planOf } from "../support/plans.js";
import { approved, proposed } from "../support/proposals.js";
import { Scenario } from "../support/scenario.js";
import { fingerprint, payload, START_MS } from "../support/values.js";

const dayMs = 24 * 60 * 60 * 1000;
const held = (): Scenario => Scenario.ofOne().given(leased(0, 1));

describe("a function that continues its run as new", () => {
  it("begins the next incarnation in one commit: its names are new, its run is the same", () => {
    const scenario = held().given(stepRecorded(0, 1), declared(), observedResult());
    scenario.given(waitsOpened(0, 1, [timerDeclared(), inputDeclared()]));
    const { version, principal, labels } = scenario.state;
    scenario.at(5000).when(continueRun(1)).records(runContinued(2, 1));
    expect(scenario.state).toMatchObject({
      ...{ runId: "r1", fingerprint: fingerprint(1), principal, labels },
      ...{ incarnation: 2, status: RunStatus.RUNNING, version: version + 1, closedAtMs: 0 },
      ...{ input: payload(2), startedAtMs: START_MS + 5000, openTasks: 1, leaseVersionBase: 1 },
      ...{ operations: [], steps: [], waits: [], inputs: [], reviews: [] },
      continued: { leaseVersion: 1, startInput: undefined },
    });
    expect(scenario.state.tasks).toMatchObject([
      { status: TaskStatus.READY, version: 0, attempt: 0, openWaits: [] },
    ]);
    scenario.when(leaseTask(0)).records(leased(0, 2, { attempt: 1 }));
  });

  it("is answered the same again when its report is sent again, and refused another one", () => {
    const scenario = held();
    scenario.when(continueRun(1)).records(runContinued(2, 1));
    scenario.given(leased(0, 2, { attempt: 1 }));
    scenario.when(continueRun(1)).isExisting();
    scenario.when(continueRun(1, { input: payload(3) })).rejects("PAWL_FINGERPRINT_CONFLICT");
    scenario.when(completeTask(1)).rejects("PAWL_FINGERPRINT_CONFLICT");
    scenario.when(failTask(1)).rejects("PAWL_FINGERPRINT_CONFLICT");
    scenario.when(continueRun(2)).records(runContinued(3, 2));
    scenario.when(continueRun(1)).rejects("PAWL_LEASE_LOST");
  });

  it("closes the questions that it asked", () => {
    const scenario = held().given(waitsOpened(0, 1, [inputDeclared()]));
    const [input] = scenario.state.inputs;
    scenario.when(continueRun(1)).records(runContinued(2, 1));
    expect(input?.status).toBe(InputStatus.WITHDRAWN);
  });

  it("cancels the tasks that it called, in the same commit", () => {
    const scenario = held().given(tasksCalled(0, 1, [calledTask("a"), calledTask("b")]));
    scenario.given(leased(2, 1, { attempt: 1 }));
    scenario.when(continueRun(1)).records(callsCancelled(0, [1, 2]), runContinued(2, 1));
    expect(scenario.state.tasks).toHaveLength(1);
    scenario.when(completeTask(1, { task: 2 })).rejects("PAWL_TASK_NOT_FOUND");
  });

  it("cancels what those called, too, however deep", () => {
    const scenario = held().given(tasksCalled(0, 1, ["outer"]), leased(1, 1, { attempt: 1 }));
    scenario.given(tasksCalled(1, 1, ["inner"]), leased(2, 1, { attempt: 1 }));
    scenario
      .when(continueRun(1))
      .records(callsCancelled(0, [1]), callsCancelled(1, [2]), runContinued(2, 1));
    expect(scenario.state.tasks).toHaveLength(1);
  });

  it("carries over what a wait took and its code was not given", () => {
    const opened = [
      signalDeclared({ name: "a" }),
      signalDeclared({ name: "b", subject: { case: "signal", value: { signal: "other" } } }),
    ];
    const scenario = held().given(waitsOpened(0, 1, opened));
    scenario.given(signalReceived({ requestId: "q1" }), signalTaken(0, 0));
    const seenThrough = scenario.state.eventCount;
    scenario.given(signalReceived({ requestId: "q2", name: "other" }), signalTaken(0, 1, 1));
    scenario.when(continueRun(1, { seenThrough })).records(runContinued(2, 1, { seenThrough }));
    expect(scenario.state.signals).toMatchObject([
      { requestId: "q1", takenBy: "earlier", payload: undefined },
      { requestId: "q2", takenBy: undefined, payload: expect.any(Uint8Array) },
    ]);
    expect(scenario.state.keptSignalCount).toBe(1);
    expect(restoreRun(splitRows(scenario.state), compileRecordedPlan)).toEqual(scenario.state);
  });

  it("leaves a paused run paused", () => {
    const scenario = held().given(runPaused());
    scenario.when(continueRun(1)).records(runContinued(2, 1));
    expect(scenario.state).toMatchObject({
      status: RunStatus.PAUSED,
      incarnation: 2,
      pause: { reason: "look" },
    });
  });
});

describe("a run that was continued as new", () => {
  it("keeps the input of the start, which later starts are compared with", () => {
    const scenario = Scenario.empty();
    const first = startRun(planOf({ only: {} }, "only"), { input: payload(1) });
    const { decision } = scenario.when(first);
    scenario.commit(decision.accepted ? decision.events : []);
    scenario.given(leased(0, 1)).when(continueRun(1)).records(runContinued(2, 1));
    scenario.given(leased(0, 2, { attempt: 1 }));
    scenario.when(continueRun(2)).records(runContinued(3, 2));
    expect(scenario.state.continued).toEqual({ leaseVersion: 2, startInput: payload(1) });
    scenario.when(first).isExisting();
  });

  it("is what its rows say", () => {
    const scenario = held().given(signalReceived());
    scenario.when(continueRun(1)).records(runContinued(2, 1));
    expect(restoreRun(splitRows(scenario.state), compileRecordedPlan)).toEqual(scenario.state);
  });

  it("is forgotten when a start begins the run once more", () => {
    const scenario = held();
    scenario.when(continueRun(1)).records(runContinued(2, 1));
    scenario.given(leased(0, 2, { attempt: 1 })).commit([completed(0, 2)]);
    const plan = planOf({ only: {} }, "only");
    const again = startRun(plan, { onExisting: OnExisting.RESTART_CLOSED, requestId: "q" });
    expect(scenario.when(again).summary()).toBe("runRestarted");
    const { decision } = scenario.when(again);
    scenario.commit(decision.accepted ? decision.events : []);
    expect(scenario.state).toMatchObject({ incarnation: 3, continued: undefined });
  });
});

describe("continuing as new is refused", () => {
  it.each([
    ["was asked to stop and has its grace", callsStopping(0, [1])],
    ["was let go", callsAbandoned(0, [1])],
  ])("while a called task %s", (_what, event) => {
    const scenario = held().given(tasksCalled(0, 1, ["a"]), leased(1, 1, { attempt: 1 }), event);
    scenario.when(continueRun(1)).rejects("PAWL_ILLEGAL_TRANSITION", {
      ...{ entity: "task", status: "LEASED", command: "continue as new", legal: ["await it"] },
    });
    scenario.given(completed(1, 1)).when(continueRun(1)).records(runContinued(2, 1));
  });

  it("without the lease, or another task than the one of the plan", () => {
    held().when(continueRun(2)).rejects("PAWL_LEASE_LOST");
    held()
      .when(continueRun(1, { task: 5 }))
      .rejects("PAWL_TASK_NOT_FOUND");
    const called = held().given(tasksCalled(0, 1, [calledTask("a")]), leased(1, 1));
    called.when(continueRun(1, { task: 1 })).rejects("PAWL_ILLEGAL_TRANSITION", {
      ...{ entity: "task", status: "LEASED", command: "continue as new" },
      legal: ["report output", "report failure", "release"],
    });
    const plan = planOf({ only: {}, other: {} }, "only");
    Scenario.started(plan)
      .given(leased(0, 1))
      .when(continueRun(1))
      .rejects("PAWL_ILLEGAL_TRANSITION");
  });

  it("while an operation may still take effect, also one of a task that was called", () => {
    const wants = { entity: "operation", command: "continue as new" };
    const calling = held().given(declared());
    calling.when(continueRun(1)).rejects("PAWL_OPERATIONS_UNSETTLED", {
      ...{ ...wants, status: "INTENDED", legal: ["observe", "reconcile"] },
    });
    const inDoubt = held().given(declared(), doubted());
    inDoubt.when(continueRun(1)).rejects("PAWL_OPERATIONS_UNSETTLED");
    held().given(declared(), observedNotSent()).when(continueRun(1)).records(runContinued(2, 1));
  });

  it("while a proposal is open, pending or approved", () => {
    for (const open of [held().given(proposed()), held().given(proposed(), approved())]) {
      open.when(continueRun(1)).rejects("PAWL_PROPOSALS_OPEN");
    }
  });

  it("when it recorded how to undo something", () => {
    const rollback = { operation: "mail", target: "a" };
    held()
      .given(stepRecorded(0, 1, { rollback }))
      .when(continueRun(1))
      .rejects("PAWL_ROLLBACKS_RECORDED");
  });

  it("in a run that was asked to stop: the attempt is cancelled, and nothing begins", () => {
    const scenario = held().given(cancelRequested());
    expect(scenario.when(continueRun(1)).summary()).toBe("taskCancelled");
  });
});

describe("signals of a run that continues as new", () => {
  it("go over when nothing took them, in their order; of the others the request is remembered", () => {
    const scenario = held().given(signalReceived(), signalReceived({ requestId: "q2" }));
    scenario.given(waitsOpened(0, 1, [signalDeclared()]), signalTaken(0, 0, 0));
    scenario.when(continueRun(1)).records(runContinued(2, 1));
    expect(scenario.state).toMatchObject({
      keptSignalCount: 1,
      signals: [
        { number: 0, requestId: "q1", takenBy: "earlier", payload: undefined },
        { number: 1, requestId: "q2", takenBy: undefined, payload: payload(1) },
      ],
    });
    scenario.when(sendSignal()).isExisting();
    scenario.when(sendSignal({ payload: payload(2) })).rejects("PAWL_FINGERPRINT_CONFLICT");
  });

  it("that were taken more than a day ago are forgotten, so that a run may live for ever", () => {
    const scenario = held();
    for (let round = 1; round <= 1000; round++) {
      scenario.at((round * dayMs) / 100);
      scenario.given(signalReceived({ requestId: `q${round}` }));
      const taken = scenario.state.signals.length - 1;
      scenario.given(waitsOpened(0, round, [signalDeclared()]), signalTaken(0, 0, taken));
      scenario.when(continueRun(round)).records(runContinued(round + 1, round));
      scenario.given(leased(0, round + 1, { attempt: 1 }));
    }
    expect(scenario.state.signals).toHaveLength(100);
    expect(scenario.state.signals.at(0)).toMatchObject({ number: 0, requestId: "q901" });
    expect(scenario.state.eventCount).toBe(1 + 1 + 1000 * 5);
  });
});

describe("what a run owes others when it continues as new", () => {
  it("stays owed, and is not taken for what its code asks for next", () => {
    const scenario = held().given(obligationMade(1));
    scenario.when(continueRun(1)).records(runContinued(2, 1));
    expect(scenario.state).toMatchObject({
      obligations: [{ number: 0, earlier: true }],
      openObligations: new Set([0]),
    });
    expect(scenario.state.obligationsByIdentity.size).toBe(0);
  });
});
