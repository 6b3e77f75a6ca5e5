import { RunStatus, TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { OnExisting } from "@pawl/proto/v1/run_service_pb.js";
import { whyNeverAnswered } from "@pawl/server/core/view/update-standing.js";
import { describe, expect, it } from "vitest";
import {
  continueRun,
  recordStep,
  sendSignal,
  signalWait,
  startRun,
  suspend,
} from "../support/commands.js";
import {
  cancelRequested,
  completed,
  leased,
  runClosed,
  runContinued,
  runPaused,
  signalReceived,
  signalTaken,
  stepRecorded,
  suspended,
} from "../support/events.js";
import { Scenario } from "../support/scenario.js";
import { failure, payload, START_MS } from "../support/values.js";

const updateDeclared = {
  name: "move",
  key: undefined,
  dueAtMs: 0,
  subject: { case: "update", value: { update: "go" } },
} as const;
const updateWait = signalWait(undefined, {
  name: "move",
  subject: { case: "update", update: "go", timeoutMs: undefined },
});
const received = (parts = {}) => signalReceived({ requestId: "u1", update: true, ...parts });
const send = (parts = {}) => sendSignal({ isUpdate: true, requestId: "u1", ...parts });
const answer = (parts = {}) => recordStep(2, { name: "$answer", key: "0", answers: 0, ...parts });
const answered = (parts = {}) =>
  stepRecorded(0, 2, { name: "$answer", key: "0", answers: 0, ...parts });

/** Task 0 waits for update `go`. */
const waiting = (): Scenario =>
  Scenario.ofOne().given(leased(0, 1), suspended(0, 1, { opened: [updateDeclared], waits: [0] }));

/** Task 0 has taken update `u1`, and holds lease 2. */
const taken = (): Scenario =>
  waiting().given(received(), signalTaken(0, 0), leased(0, 2, { attempt: 1 }));

describe("an update", () => {
  it("is kept until a task waits for it, and then taken at once", () => {
    const scenario = Scenario.ofOne();
    scenario.when(send()).records(received());
    expect(scenario.state.keptSignalCount).toBe(1);
    const { state } = scenario
      .given(leased(0, 1))
      .when(suspend(1, { waits: [updateWait] }))
      .records(suspended(0, 1, { opened: [updateDeclared], waits: [0] }), signalTaken(0, 0))
      .go();
    expect(state.tasks[0]?.status).toBe(TaskStatus.READY);
    expect(state.keptSignalCount).toBe(0);
  });

  it("and a signal of its name and id are two things", () => {
    const scenario = waiting();
    scenario.when(sendSignal({ requestId: "u1" })).records(signalReceived({ requestId: "u1" }));
    scenario.when(send()).records(received(), signalTaken(0, 0, 1));
  });

  it("sent again says `existing`, also when it was answered and the run has ended", () => {
    Scenario.ofOne().given(received()).when(send()).isExisting();
    taken()
      .given(answered(), completed(0, 2), runClosed(RunStatus.COMPLETED))
      .when(send())
      .isExisting();
  });

  it.each([
    ["another name", { name: "stop" }],
    ["another content", { payload: payload(2) }],
    ["no content", { payload: undefined }],
  ] as const)("of one id is refused with %s", (_, parts) => {
    Scenario.ofOne().given(received()).when(send(parts)).rejects("PAWL_FINGERPRINT_CONFLICT");
  });

  it("is refused by a run that has ended, is paused or was asked to stop, and leaves nothing there", () => {
    Scenario.ofOne().given(runClosed(RunStatus.TERMINATED)).when(send()).rejects("PAWL_RUN_OVER");
    Scenario.ofOne()
      .given(runPaused())
      .when(send())
      .rejects("PAWL_ILLEGAL_TRANSITION", {
        entity: "run",
        status: "PAUSED",
        command: "UpdateRun",
        legal: ["ResumeRun", "SendSignal"],
      });
    Scenario.ofOne()
      .given(leased(0, 1), cancelRequested())
      .when(send())
      .rejects("PAWL_ILLEGAL_TRANSITION", {
        ...{ entity: "run", status: "CANCELLING", command: "UpdateRun", legal: [] },
      });
  });

  it("that came before the pause is attached to, also while paused", () => {
    Scenario.ofOne().given(received(), runPaused()).when(send()).isExisting();
  });

  it("is refused when the run has another version than expected", () => {
    Scenario.ofOne()
      .when(send({ expectedVersion: 2 }))
      .rejects("PAWL_STALE_VERSION");
  });
});

describe("the answer to an update", () => {
  it("accepts it with a result, once", () => {
    const { state } = taken().when(answer()).records(answered()).go();
    expect(state.signals[0]?.answer).toMatchObject({ result: payload(6), refused: undefined });
  });

  it("refuses it with a reason", () => {
    const parts = { value: undefined, failure: failure() };
    const { state } = taken().when(answer(parts)).records(answered(parts)).go();
    expect(state.signals[0]?.answer).toMatchObject({ result: undefined, refused: failure() });
  });

  it("again is answered `existing`; another one of the same step, and one of another step, are conflicts", () => {
    const scenario = taken().given(answered());
    scenario.when(answer()).isExisting();
    scenario.when(answer({ value: payload(7) })).rejects("PAWL_FINGERPRINT_CONFLICT");
    scenario.when(answer({ key: "again" })).rejects("PAWL_FINGERPRINT_CONFLICT");
  });

  it("is refused for what no wait of the task took", () => {
    taken()
      .when(answer({ answers: 1 }))
      .rejects("PAWL_INVALID_FIELD", {
        field: "answers",
        expected: "an update that a wait of the task took",
        actual: "1",
      });
    Scenario.ofOne()
      .given(received(), leased(0, 1))
      .when(answer({ leaseVersion: 1 }))
      .rejects("PAWL_INVALID_FIELD");
    Scenario.ofOne()
      .given(signalReceived(), leased(0, 1))
      .when(answer({ leaseVersion: 1 }))
      .rejects("PAWL_INVALID_FIELD");
    taken()
      .when(answer({ publishes: "x" }))
      .rejects("PAWL_INVALID_FIELD");
  });

  it("is refused from a lease that is over", () => {
    waiting().given(received(), signalTaken(0, 0)).when(answer()).rejects("PAWL_LEASE_LOST");
  });
});

describe("an update that nobody answered when its run ended", () => {
  it("never is", () => {
    const { state } = waiting().given(
      received(),
      signalTaken(0, 0),
      runClosed(RunStatus.TERMINATED),
    );
    const [update] = state.signals;
    expect(update && whyNeverAnswered(state, update)?.reason).toBe("PAWL_RUN_OVER");
  });
});

describe("a run that begins once more", () => {
  it("takes no update of the incarnation that ended, and remembers the answers", () => {
    const scenario = taken().given(
      received({ requestId: "u2" }),
      received({ requestId: "u3", name: "other" }),
      signalReceived({ requestId: "q9" }),
      answered(),
      completed(0, 2),
      runClosed(RunStatus.COMPLETED),
    );
    const again = startRun(scenario.state.plan, {
      onExisting: OnExisting.RESTART_CLOSED,
      requestId: "s2",
    });
    const { decision } = scenario.when(again);
    scenario.commit(decision.accepted ? decision.events : []);
    const { state } = scenario;
    expect(state.incarnation).toBe(2);
    expect(state.signals[0]).toMatchObject({
      takenBy: "earlier",
      payload: undefined,
      answer: { result: payload(6) },
    });
    expect(state.signals[1]).toMatchObject({ takenBy: "earlier", answer: undefined });
    expect(state.keptSignalCount).toBe(1); // The signal alone.
    const left = state.signals[1];
    expect(left && whyNeverAnswered(state, left)).toMatchObject({
      reason: "PAWL_RUN_OVER",
      message: expect.stringContaining(" Next: send it anew under another id."),
    });
    scenario.when(send()).isExisting();
    scenario.when(send({ requestId: "u2" })).isExisting();
  });
});

describe("a run that continues as new", () => {
  const hourMs = 60 * 60 * 1000;

  it("remembers an answer for a day after it was given, however long ago the update came", () => {
    const scenario = taken();
    scenario.at(25 * hourMs).given(answered());
    scenario.when(continueRun(2)).records(runContinued(2, 2));
    expect(scenario.state.signals).toMatchObject([
      { requestId: "u1", answer: { result: payload(6), atMs: START_MS + 25 * hourMs } },
    ]);
    scenario.when(send()).isExisting();
    scenario.at(49 * hourMs).given(leased(0, 3, { attempt: 1 }));
    scenario.when(continueRun(3)).records(runContinued(3, 3));
    expect(scenario.state.signals).toEqual([]);
  });

  it("takes over the updates that nobody took", () => {
    const scenario = Scenario.ofOne().given(received(), leased(0, 1));
    scenario.when(continueRun(1)).records(runContinued(2, 1));
    expect(scenario.state).toMatchObject({ keptSignalCount: 1 });
    scenario.given(leased(0, 2, { attempt: 1 }));
    scenario
      .when(suspend(2, { waits: [updateWait] }))
      .records(suspended(0, 2, { opened: [updateDeclared], waits: [0] }), signalTaken(0, 0));
  });

  it("answers what it took first", () => {
    taken()
      .when(continueRun(2))
      .rejects("PAWL_ILLEGAL_TRANSITION", {
        entity: "update",
        status: "taken",
        command: "continue as new",
        legal: ["answer it"],
      });
  });
});
