import { InputStatus } from "@pawl/proto/v1/input_pb.js";
import { RunStatus, TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { describe, expect, it } from "vitest";
import { fireDeadline, inputWait, provideInput, suspend } from "../support/commands.js";
import {
  inputAnswered,
  inputDeclared,
  leased,
  runClosed,
  suspended,
  waitEnded,
} from "../support/events.js";
import { Scenario } from "../support/scenario.js";
import { fingerprint, payload, START_MS } from "../support/values.js";

const { ANSWERED, EXPIRED, OPEN, WITHDRAWN } = InputStatus;

const asked = (parts = {}): Scenario =>
  Scenario.ofOne().given(
    leased(0, 1),
    suspended(0, 1, { opened: [inputDeclared(parts)], waits: [0] }),
  );
const given = waitEnded(0, 0, { case: "inputGiven", value: {} });

describe("asking", () => {
  it("opens a request, which its deadline may end", () => {
    const { state } = Scenario.ofOne()
      .given(leased(0, 1))
      .when(suspend(1, { waits: [inputWait(1000)] }))
      .records(
        suspended(0, 1, { opened: [inputDeclared({ dueAtMs: START_MS + 1000 })], waits: [0] }),
      )
      .go();
    expect(state.inputs).toMatchObject([{ number: 0, wait: 0, status: OPEN, version: 1 }]);
  });

  it("the same again asks nothing anew, and anything else under the name is refused", () => {
    const scenario = asked().given(inputAnswered(), given, leased(0, 2, { attempt: 1 }));
    const other = { ...inputWait().subject, fingerprint: fingerprint(8) };
    scenario
      .when(suspend(2, { waits: [inputWait(undefined, { subject: other })] }))
      .rejects("PAWL_FINGERPRINT_CONFLICT");
  });
});

describe("an answer", () => {
  it("wakes the task, with who gave it", () => {
    const { state } = asked()
      .when(provideInput(), { principal: "ann" })
      .records({ ...inputAnswered(), value: { ...inputAnswered().value, principal: "ann" } }, given)
      .go();
    expect(state.inputs[0]).toMatchObject({
      status: ANSWERED,
      version: 2,
      answer: payload(5),
      principal: "ann",
    });
    expect(state.tasks[0]?.status).toBe(TaskStatus.READY);
  });

  it("may be that there is none: declined, with the reason", () => {
    const answer = { case: "declined", value: "not my job" } as const;
    const { state } = asked()
      .when(provideInput({ answer }))
      .records(inputAnswered(answer), given)
      .go();
    expect(state.inputs[0]).toMatchObject({ answer: undefined, declined: "not my job" });
  });

  it("says `existing` when it is given again, and another one is refused", () => {
    const scenario = asked().given(inputAnswered(), given);
    scenario.when(provideInput()).isExisting();
    scenario.when(provideInput({ expectedVersion: 9 })).isExisting();
    const other = { case: "given", value: payload(6) } as const;
    scenario.when(provideInput({ answer: other })).rejects("PAWL_FINGERPRINT_CONFLICT");
    const declined = { case: "declined", value: "no" } as const;
    scenario.when(provideInput({ answer: declined })).rejects("PAWL_FINGERPRINT_CONFLICT");
  });

  it("is refused for another version, or without a request", () => {
    asked()
      .when(provideInput({ expectedVersion: 2 }))
      .rejects("PAWL_STALE_VERSION", {
        entity: "input",
        expected: 2,
        actual: 1,
      });
    asked()
      .when(provideInput({ input: 1 }))
      .rejects("PAWL_INPUT_NOT_FOUND");
  });
});

describe("a request that nobody answers", () => {
  const soon = { dueAtMs: START_MS + 1000 };

  it("expires, and the code sees it", () => {
    const scenario = asked(soon);
    scenario.at(999).when(fireDeadline()).isExisting();
    const timedOut = waitEnded(0, 0, { case: "timedOut", value: {} });
    const { state } = scenario.at(1000).when(fireDeadline()).records(timedOut).go();
    expect(state.inputs[0]).toMatchObject({ status: EXPIRED, closedAtMs: START_MS + 1000 });
    scenario.when(provideInput()).rejects("PAWL_ILLEGAL_TRANSITION");
  });

  it("takes no answer once its time is over, also when nobody has noticed yet", () => {
    asked(soon).at(1000).when(provideInput()).rejects("PAWL_ILLEGAL_TRANSITION", {
      entity: "input",
      status: "EXPIRED",
      command: "ProvideInput",
      legal: [],
    });
  });

  it("is withdrawn when its task ends", () => {
    const scenario = asked().given(runClosed(RunStatus.TERMINATED));
    expect(scenario.state.inputs[0]?.status).toBe(WITHDRAWN);
    scenario.when(provideInput()).rejects("PAWL_ILLEGAL_TRANSITION");
  });
});
