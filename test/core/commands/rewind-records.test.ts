import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import type { MakeObligation } from "@pawl/server/core/command.js";
import { describe, expect, it } from "vitest";
import {
  beforeTask,
  leaseTask,
  recordStep,
  rewindRun,
  sendSignal,
  settleObligation,
  signalWait,
  startChild,
  suspend,
} from "../support/commands.js";
import {
  calledTask,
  completed,
  leased,
  signalDeclared,
  signalReceived,
  signalTaken,
  stepRecorded,
  suspended,
  tasksCalled,
  waitsOpened,
} from "../support/events.js";
import { must } from "../support/go.js";
import { planOf } from "../support/plans.js";
import { Scenario } from "../support/scenario.js";
import { fingerprint, payload, START_MS } from "../support/values.js";

const { CANCELLED, COMPLETED, READY } = TaskStatus;

/** The only task is leased and has recorded `draw` (event 3) and `toss` (event 4). */
function recorded(): Scenario {
  return Scenario.ofOne().given(
    leased(0, 1),
    stepRecorded(0, 1, { name: "draw" }),
    stepRecorded(0, 1, { name: "toss", seenThrough: 3 }),
  );
}

describe("what a task recorded", () => {
  it("stays up to the point, and is made anew after it", () => {
    const scenario = recorded();
    must(scenario, rewindRun(beforeTask("only", "toss")));
    const { state } = scenario;
    expect(state.steps.map(({ name, dropped }) => [name, dropped])).toEqual([
      ["draw", 0],
      ["toss", 2],
    ]);
    expect(state.tasks[0]?.steps).toEqual([0]);
    scenario.given(leased(0, 2, { attempt: 1 }), stepRecorded(0, 2, { name: "toss" }));
    expect(state.steps.map(({ dropped }) => dropped)).toEqual([0, 2, 0]);
  });

  it("is made anew before the point too when it is a read that is too old", () => {
    const scenario = Scenario.ofOne().given(
      leased(0, 1),
      stepRecorded(0, 1, { name: "quote", observedAtMs: START_MS, maxAgeMs: 1000 }),
      stepRecorded(0, 1, { name: "rate", observedAtMs: START_MS, maxAgeMs: 5000 }),
      stepRecorded(0, 1, { name: "toss" }),
    );
    must(scenario.at(2000), rewindRun(beforeTask("only", "toss")));
    expect(scenario.state.steps.map(({ name, dropped }) => [name, dropped])).toEqual([
      ["quote", 2],
      ["rate", 0],
      ["toss", 2],
    ]);
  });
});

describe("what a task called", () => {
  it("after the point is no longer of the run, and may be called again by its name", () => {
    const scenario = Scenario.ofOne().given(
      leased(0, 1),
      tasksCalled(0, 1, ["a"]),
      tasksCalled(0, 1, ["b"]),
      leased(1, 1),
      completed(1, 1),
      leased(2, 1),
    );
    must(scenario, rewindRun(beforeTask("only", "b")));
    const { state } = scenario;
    // a ended after the point: it is open again.
    expect(state.tasks.map(({ status }) => status)).toEqual([READY, READY, CANCELLED]);
    expect(state.tasks.map(({ dropped }) => dropped)).toEqual([0, 0, 2]);
    expect([...state.calledByName]).toEqual([["a", 1]]);
    scenario.given(leased(0, 2, { attempt: 1 }), tasksCalled(0, 2, [calledTask("b")]));
    expect([...state.calledByName]).toEqual([
      ["a", 1],
      ["b", 3],
    ]);
  });

  it("stays when it had ended before the point", () => {
    const scenario = Scenario.ofOne().given(
      leased(0, 1),
      tasksCalled(0, 1, ["a"]),
      leased(1, 1),
      completed(1, 1),
      stepRecorded(0, 1, { name: "toss" }),
    );
    must(scenario, rewindRun(beforeTask("only", "toss")));
    expect(scenario.state.tasks.map(({ status }) => status)).toEqual([READY, COMPLETED]);
    expect(scenario.state.tasks[0]?.calls?.ended).toEqual([1]);
  });

  it("is the point itself: its caller goes on from before its end", () => {
    const scenario = Scenario.ofOne().given(
      leased(0, 1),
      stepRecorded(0, 1, { name: "draw" }),
      tasksCalled(0, 1, ["a"]),
      leased(1, 1),
      completed(1, 1),
      stepRecorded(0, 1, { name: "toss" }),
    );
    must(scenario, rewindRun(beforeTask("a")));
    const { state } = scenario;
    expect(state.tasks.map(({ status }) => status)).toEqual([READY, READY]);
    expect(state.steps.map(({ dropped }) => dropped)).toEqual([0, 2]);
  });
});

/** The task waits for `go` from event 4 on; `extra` comes at its end. */
function signalled(): Scenario {
  return Scenario.ofOne().given(
    leased(0, 1),
    stepRecorded(0, 1, { name: "draw" }),
    suspended(0, 1, { opened: [signalDeclared()] }),
    signalReceived(),
    signalTaken(0, 0),
    leased(0, 2, { attempt: 1 }),
  );
}

describe("a message that was taken after the point", () => {
  it("is unread again", () => {
    const scenario = signalled();
    must(scenario, rewindRun(beforeTask("only", "draw")));
    const { state } = scenario;
    expect(state.waits[0]).toMatchObject({ dropped: 2 });
    expect(state.signals[0]?.takenBy).toBeUndefined();
    expect(state.keptSignalCount).toBe(1);
  });

  it("is not given again when they are dropped, and its request is still known", () => {
    const scenario = signalled();
    must(scenario, rewindRun(beforeTask("only", "draw"), { dropsMessages: true }));
    expect(scenario.state.signals[0]?.takenBy).toBe("earlier");
    expect(scenario.state.keptSignalCount).toBe(0);
    scenario.when(sendSignal()).isExisting();
  });

  it("by a wait that began before it stays with that wait: it is given again in its place", () => {
    const scenario = signalled();
    must(scenario, rewindRun(4));
    expect(scenario.state.waits[0]).toMatchObject({ dropped: 0, endedEvent: 6 });
    expect(scenario.state.tasks[0]?.endedWaits).toEqual([0]);
  });

  it("goes to whoever else waits for it since", () => {
    const scenario = Scenario.started(planOf({ one: {}, other: {} })).given(
      leased(0, 1),
      leased(1, 1),
      waitsOpened(0, 1, [signalDeclared()]),
      signalReceived(),
      signalTaken(0, 0),
      waitsOpened(1, 1, [signalDeclared()]),
    );
    must(scenario, rewindRun(beforeTask("one")));
    expect(scenario.state.signals[0]?.takenBy).toBe(1);
  });
});

/** The task has recorded `draw` (event 3), then taken update `u1` and answered it. */
function updated(): Scenario {
  const subject = { case: "update", value: { update: "go" } } as const;
  return Scenario.ofOne().given(
    leased(0, 1),
    stepRecorded(0, 1, { name: "draw" }),
    suspended(0, 1, { opened: [signalDeclared({ subject })] }),
    signalReceived({ requestId: "u1", update: true }),
    signalTaken(0, 0),
    leased(0, 2, { attempt: 1 }),
    stepRecorded(0, 2, { name: "$answer", key: "0", answers: 0, value: payload("first") }),
  );
}

describe("an update that was answered after the point", () => {
  it.each([false, true])("is given again and answered anew, messages dropped: %s", (drops) => {
    const scenario = updated();
    expect(scenario.state.signals[0]?.answer).toMatchObject({ result: payload("first") });
    must(scenario, rewindRun(beforeTask("only", "draw"), { dropsMessages: drops }));
    expect(scenario.state.signals[0]?.takenBy).toBeUndefined();
    expect(scenario.state.keptSignalCount).toBe(1);
    must(scenario, leaseTask(0));
    const subject = { case: "update", update: "go", timeoutMs: undefined } as const;
    must(scenario, suspend(3, { waits: [signalWait(undefined, { subject })] }));
    expect(scenario.state.signals[0]?.takenBy).toBe(1);
    must(scenario, leaseTask(0));
    const answer = { name: "$answer", key: "0", answers: 0, value: payload("second") };
    must(scenario, recordStep(4, answer));
    expect(scenario.state.signals[0]?.answer).toMatchObject({ result: payload("second") });
  });
});

describe("a child that was started after the point", () => {
  it("is found again by its name, and is not started twice", () => {
    const scenario = Scenario.ofOne().given(leased(0, 1), stepRecorded(0, 1, { name: "draw" }));
    must(scenario, startChild(1));
    must(scenario, settleObligation());
    must(scenario, rewindRun(beforeTask("only", "draw")));
    must(scenario, leaseTask(0));
    const { reply } = scenario.when(startChild(2)).isExisting();
    expect(reply).toMatchObject({ obligation: 0 });
    expect(scenario.state.obligations).toMatchObject([
      { declaration: { runId: "r1/1/only/part" } },
    ]);
    const other = {
      ...startChild(2).order,
      fingerprint: fingerprint(5),
    } as MakeObligation["order"];
    scenario.when(startChild(2, undefined, { order: other })).rejects("PAWL_FINGERPRINT_CONFLICT");
  });
});
