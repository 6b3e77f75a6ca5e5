import { ObligationStatus } from "@pawl/proto/v1/obligation_pb.js";
import { RunStatus, TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { OnExisting } from "@pawl/proto/v1/run_service_pb.js";
import { describe, expect, it } from "vitest";
import {
  answerWait,
  makeObligation,
  sendSignal,
  settleObligation,
  startRun,
  suspend,
} from "../support/commands.js";
import {
  cancelRequested,
  completed,
  leased,
  obligationMade,
  obligationSettled,
  runClosed,
  runPaused,
  signalReceived,
  suspended,
  waitEnded,
} from "../support/events.js";
import { planOf } from "../support/plans.js";
import { Scenario } from "../support/scenario.js";
import { payload } from "../support/values.js";

const held = (): Scenario => Scenario.ofOne().given(leased(0, 1));
const { OPEN, DELIVERED, RUN_OVER, NOT_FOUND, FULL } = ObligationStatus;
const declared = {
  name: "answer",
  dueAtMs: 0,
  subject: { case: "obligation", value: { obligation: 0 } },
} as const;

describe("an obligation", () => {
  it("is recorded once under its name, also for a later attempt", () => {
    const scenario = held();
    const { reply } = scenario.when(makeObligation(1)).records(obligationMade(1));
    expect(reply).toMatchObject({ existing: false, obligation: 0 });
    expect(scenario.state.obligations[0]).toMatchObject({ status: OPEN, madeEvent: 3 });
    const again = scenario.when(makeObligation(1)).isExisting();
    expect(again.reply.obligation).toBe(0);
    // Whoever holds the task now: what is sent is sent.
    scenario.when(makeObligation(7)).isExisting();
  });

  it("has an identity of its own for each key, task and kind of order", () => {
    const scenario = held();
    scenario.when(makeObligation(1)).records(obligationMade(1));
    scenario.when(makeObligation(1, { key: "b" })).records(obligationMade(1, { key: "b" }));
    scenario
      .when(makeObligation(1, { order: { case: "cancel", reason: "enough" } }))
      .records(
        obligationMade(1, { order: { case: "cancel", value: { reason: "enough", child: 0 } } }),
      );
    expect([...scenario.state.openObligations]).toEqual([0, 1, 2]);
  });

  it("is refused when another receiver or content is recorded under its name", () => {
    const scenario = held().given(obligationMade(1));
    const differs = (parts: Parameters<typeof makeObligation>[1], what: string): void => {
      const { decision } = scenario.when(makeObligation(1, parts));
      expect(decision).toMatchObject({
        accepted: false,
        rejection: {
          reason: "PAWL_FINGERPRINT_CONFLICT",
          detail: { value: { entity: "obligation", id: "tell", differs: what } },
        },
      });
    };
    differs({ runId: "r3" }, "run_id");
    differs({ order: { case: "signal", signal: "stop", payload: payload(1) } }, "signal");
    differs({ order: { case: "signal", signal: "go", payload: payload(2) } }, "payload");
    differs({ order: { case: "signal", signal: "go", payload: undefined } }, "payload");
    const cancel = held().given(
      obligationMade(1, { order: { case: "cancel", value: { reason: "a", child: 0 } } }),
    );
    cancel
      .when(makeObligation(1, { order: { case: "cancel", reason: "b" } }))
      .rejects("PAWL_FINGERPRINT_CONFLICT");
  });
});

describe("making an obligation", () => {
  it("needs the lease", () => {
    Scenario.ofOne().when(makeObligation(1)).rejects("PAWL_LEASE_LOST");
    held().when(makeObligation(2)).rejects("PAWL_LEASE_LOST");
    held()
      .when(makeObligation(1, { task: 4 }))
      .rejects("PAWL_TASK_NOT_FOUND");
    held()
      .given(completed(0, 1), runClosed(RunStatus.COMPLETED))
      .when(makeObligation(1))
      .rejects("PAWL_LEASE_LOST");
  });

  it("may be made by an attempt of a run that is paused, or was asked to stop", () => {
    held().given(runPaused()).when(makeObligation(1)).records(obligationMade(1));
    held().given(cancelRequested()).when(makeObligation(1)).records(obligationMade(1));
  });
});

describe("an obligation that is open", () => {
  it.each([
    ["DELIVERED", DELIVERED],
    ["RUN_OVER", RUN_OVER],
    ["NOT_FOUND", NOT_FOUND],
    ["FULL", FULL],
  ])("is settled by the first answer: %s", (_name, status) => {
    const scenario = held().given(obligationMade(1));
    scenario.when(settleObligation({ status })).records(obligationSettled(status));
    expect(scenario.state.obligations[0]).toMatchObject({ status, settledEvent: 4 });
    expect(scenario.state.openObligations.size).toBe(0);
    scenario.when(settleObligation({ status: RUN_OVER })).isExisting();
  });

  it("is not settled by what is no answer, and neither is one that is not there", () => {
    const scenario = held().given(obligationMade(1));
    scenario.when(settleObligation({ status: OPEN })).rejects("PAWL_ILLEGAL_TRANSITION");
    scenario.when(settleObligation({ obligation: 1 })).rejects("PAWL_ILLEGAL_TRANSITION");
  });

  it("is settled also after its run has ended", () => {
    held()
      .given(obligationMade(1), completed(0, 1), runClosed(RunStatus.COMPLETED))
      .when(settleObligation())
      .records(obligationSettled());
  });
});

describe("a task that waits for the answer of another run", () => {
  const waiting = (): Scenario =>
    held().given(obligationMade(1), suspended(0, 1, { opened: [declared], waits: [0] }));

  it("goes on when it is there", () => {
    const { state } = waiting()
      .when(settleObligation())
      .records(
        obligationSettled(),
        waitEnded(0, 0, { case: "obligation", value: { obligation: 0 } }),
      )
      .go();
    expect(state.tasks[0]?.status).toBe(TaskStatus.READY);
  });

  it("goes on at once when it is there already", () => {
    held()
      .given(obligationMade(1), obligationSettled())
      .when(suspend(1, { waits: [answerWait()] }))
      .records(
        suspended(0, 1, { opened: [declared], waits: [0] }),
        waitEnded(0, 0, { case: "obligation", value: { obligation: 0 } }),
      );
  });

  it("is refused when its run has no such obligation", () => {
    held()
      .when(suspend(1, { waits: [answerWait()] }))
      .rejects("PAWL_INVALID_FIELD");
  });
});

describe("a signal that a run sends", () => {
  const from = { run: 7, obligation: 3, runId: "sender" };

  it("is known by the sender's number and that of its obligation, whatever its request", () => {
    const scenario = Scenario.ofOne();
    scenario
      .when(sendSignal({ requestId: "", from }))
      .records(signalReceived({ requestId: "", from }));
    scenario.when(sendSignal({ requestId: "", from })).isExisting();
    const next = { ...from, obligation: 4 };
    scenario
      .when(sendSignal({ requestId: "", from: next }))
      .records(signalReceived({ requestId: "", from: next }));
    const other = { ...from, run: 8 };
    scenario
      .when(sendSignal({ requestId: "", from: other }))
      .records(signalReceived({ requestId: "", from: other }));
  });
});

describe("a run that begins once more", () => {
  const again = startRun(planOf({ only: {} }, "only"), {
    onExisting: OnExisting.RESTART_CLOSED,
    requestId: "second",
  });
  const ended = [completed(0, 1), runClosed(RunStatus.COMPLETED)] as const;

  it("still owes what it owed, and no code of it asks for that any more", () => {
    const scenario = held().given(obligationMade(1), ...ended);
    const { decision } = scenario.when(again);
    scenario.commit(decision.accepted ? decision.events : []);
    const { state } = scenario;
    expect(state.incarnation).toBe(2);
    expect([...state.openObligations]).toEqual([0]);
    expect(state.obligations[0]).toMatchObject({ earlier: true, status: OPEN });
    expect(state.obligationsByIdentity.size).toBe(0);
    scenario
      .given(leased(0, 2, { attempt: 1 }))
      .when(makeObligation(2))
      .records(obligationMade(2));
    scenario.when(settleObligation()).records(obligationSettled());
    expect(state.obligations.map(({ declaration: { order } }) => order)).toMatchObject([
      { value: { signal: "go", payload: undefined } },
      { value: { signal: "go", payload: payload(1) } },
    ]);
  });

  it("cannot wait for an answer to what an earlier incarnation sent", () => {
    const scenario = held().given(obligationMade(1), obligationSettled(), ...ended);
    const { decision } = scenario.when(again);
    scenario.commit(decision.accepted ? decision.events : []);
    scenario
      .given(leased(0, 2, { attempt: 1 }))
      .when(suspend(2, { waits: [answerWait()] }))
      .rejects("PAWL_INVALID_FIELD");
  });
});
