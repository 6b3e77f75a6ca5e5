import { RunStatus, TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { describe, expect, it } from "vitest";
import { fireDeadline, sendSignal, signalWait, startRun, suspend } from "../support/commands.js";
import {
  cancelRequested,
  leased,
  runClosed,
  signalDeclared,
  signalReceived,
  signalTaken,
  suspended,
  waitEnded,
} from "../support/events.js";
import { planOf } from "../support/plans.js";
import { Scenario } from "../support/scenario.js";
import { fingerprint, payload, START_MS } from "../support/values.js";

const { READY, SUSPENDED } = TaskStatus;

const waiting = (parts = {}): Scenario =>
  Scenario.ofOne().given(
    leased(0, 1),
    suspended(0, 1, { opened: [signalDeclared(parts)], waits: [0] }),
  );

describe("a signal", () => {
  it("is kept until a task waits for it, and then taken at once", () => {
    const scenario = Scenario.ofOne();
    scenario.when(sendSignal()).records(signalReceived());
    expect(scenario.state).toMatchObject({
      keptSignalCount: 1,
      keptSignalBytes: expect.any(Number),
    });
    const { state } = scenario
      .given(leased(0, 1))
      .when(suspend(1, { waits: [signalWait()] }))
      .records(suspended(0, 1, { opened: [signalDeclared()], waits: [0] }), signalTaken(0, 0))
      .go();
    expect(state).toMatchObject({ keptSignalCount: 0, keptSignalBytes: 0 });
    expect(state.signals[0]?.takenBy).toBe(0);
    expect(state.tasks[0]?.status).toBe(READY);
  });

  it("wakes the task that waits", () => {
    const { state } = waiting()
      .when(sendSignal())
      .records(signalReceived(), signalTaken(0, 0))
      .go();
    expect(state.tasks[0]?.status).toBe(READY);
  });

  it("goes to one wait only: the one that began first", () => {
    const opened = [signalDeclared(), signalDeclared({ name: "second" })];
    const scenario = Scenario.ofOne().given(
      leased(0, 1),
      suspended(0, 1, { opened, waits: [0, 1] }),
    );
    scenario.when(sendSignal()).records(signalReceived(), signalTaken(0, 0));
    scenario
      .when(sendSignal({ requestId: "q2" }))
      .records(signalReceived({ requestId: "q2" }), signalTaken(0, 1, 1));
    scenario.when(sendSignal({ requestId: "q3" })).records(signalReceived({ requestId: "q3" }));
  });

  it("is taken in the order of acknowledgement, each by a wait of its own", () => {
    const waits = [signalWait(), signalWait(undefined, { name: "second" })];
    Scenario.ofOne()
      .given(signalReceived({ requestId: "a" }), signalReceived({ requestId: "b" }), leased(0, 1))
      .when(suspend(1, { waits }))
      .records(
        suspended(0, 1, {
          opened: [signalDeclared(), signalDeclared({ name: "second" })],
          waits: [0, 1],
        }),
        signalTaken(0, 0, 0),
        signalTaken(0, 1, 1),
      );
  });

  it("of another name wakes nobody", () => {
    const { state } = waiting()
      .when(sendSignal({ name: "other" }))
      .records(signalReceived({ name: "other" }))
      .go();
    expect(state.tasks[0]?.status).toBe(SUSPENDED);
  });

  it("that does not come in time is an outcome", () => {
    const scenario = waiting({ dueAtMs: START_MS + 1000 });
    scenario.at(999).when(fireDeadline()).isExisting();
    const timedOut = waitEnded(0, 0, { case: "timedOut", value: {} });
    scenario.at(1000).when(fireDeadline()).records(timedOut);
    scenario.when(sendSignal()).records(signalReceived());
  });
});

describe("a signal sent again", () => {
  it("says `existing`, also when it was taken and the run has ended", () => {
    Scenario.ofOne().given(signalReceived()).when(sendSignal()).isExisting();
    waiting().given(signalReceived(), signalTaken(0, 0)).when(sendSignal()).isExisting();
    Scenario.ofOne()
      .given(signalReceived(), runClosed(RunStatus.TERMINATED))
      .when(sendSignal())
      .isExisting();
  });

  it.each([
    ["another name", { name: "stop" }],
    ["another content", { payload: payload(2) }],
    ["no content", { payload: undefined }],
  ] as const)("is refused with %s", (_, parts) => {
    Scenario.ofOne()
      .given(signalReceived())
      .when(sendSignal(parts))
      .rejects("PAWL_FINGERPRINT_CONFLICT");
  });
});

describe("a signal is refused", () => {
  it("by a run that has ended", () => {
    Scenario.ofOne()
      .given(runClosed(RunStatus.TERMINATED))
      .when(sendSignal())
      .rejects("PAWL_RUN_OVER");
  });

  it("when the run has another version than expected", () => {
    Scenario.ofOne()
      .when(sendSignal({ expectedVersion: 2 }))
      .rejects("PAWL_STALE_VERSION", {
        entity: "run",
        expected: 2,
        actual: 1,
      });
    Scenario.ofOne()
      .when(sendSignal({ expectedVersion: 1 }))
      .records(signalReceived());
  });

  it("when a thousand are kept, but not when a task waits for it", () => {
    const many = Array.from({ length: 1000 }, (_, at) =>
      signalReceived({ name: "other", requestId: `m${at}` }),
    );
    const full = waiting().given(...many);
    expect(full.state.keptSignalCount).toBe(1000);
    full.when(sendSignal({ name: "stop" })).rejects("PAWL_OVERLOADED");
    full.when(sendSignal()).records(signalReceived(), signalTaken(0, 0, 1000));
  });

  it("when a MiB is kept", () => {
    const big = payload("x".repeat(30_000));
    const many = Array.from({ length: 34 }, (_, at) =>
      signalReceived({ payload: big, requestId: `m${at}` }),
    );
    Scenario.ofOne()
      .given(...many)
      .when(sendSignal({ payload: big }))
      .rejects("PAWL_OVERLOADED");
  });

  it("not while the run is asked to stop", () => {
    Scenario.ofOne()
      .given(leased(0, 1), cancelRequested())
      .when(sendSignal())
      .records(signalReceived());
  });
});

describe("a signal beside a start", () => {
  const plan = planOf({ only: {} });
  const signal = { name: "go", payload: payload(1), requestId: "q1" };

  it("comes with the run", () => {
    const { decision } = Scenario.empty().when(startRun(plan, { signal }));
    expect(decision).toMatchObject({
      accepted: true,
      events: [{ case: "runStarted" }, signalReceived()],
      reply: { existing: false },
    });
  });

  it("reaches a run that exists, and once", () => {
    const scenario = Scenario.ofOne();
    const { reply } = scenario.when(startRun(plan, { signal })).records(signalReceived());
    expect(reply.existing).toBe(true);
    scenario.when(startRun(plan, { signal })).isExisting();
  });

  it("is refused with the start when the run has ended, or is another one", () => {
    Scenario.ofOne()
      .given(runClosed(RunStatus.TERMINATED))
      .when(startRun(plan, { signal }))
      .rejects("PAWL_RUN_OVER");
    Scenario.ofOne()
      .when(startRun(plan, { signal, fingerprint: fingerprint(9) }))
      .rejects("PAWL_FINGERPRINT_CONFLICT");
  });
});
