import { RunStatus } from "@pawl/proto/v1/run_pb.js";
import { describe, expect, it } from "vitest";
import { recordStep } from "../support/commands.js";
import { leased, leaseEnded, runClosed, stepRecorded } from "../support/events.js";
import { planOf } from "../support/plans.js";
import { Scenario } from "../support/scenario.js";
import { failure, payload, START_MS, sha256 } from "../support/values.js";

const held = (): Scenario => Scenario.ofOne().given(leased(0, 1));

describe("RecordStep", () => {
  it("records the value with what the code had seen", () => {
    const { state } = held()
      .at(9)
      .when(recordStep(1, { seenThrough: 2 }))
      .records(stepRecorded(0, 1, { seenThrough: 2 }))
      .go();
    expect(state.steps).toEqual([
      {
        number: 0,
        task: 0,
        name: "draw",
        key: undefined,
        value: payload(6),
        failure: undefined,
        seenThrough: 2,
        observedAtMs: 0,
        eventNumber: 3,
        publishes: undefined,
        answers: undefined,
        attempt: 0,
        maxAgeMs: 0,
        dropped: 0,
      },
    ]);
  });

  it("stamps a read with the kernel's time", () => {
    held()
      .at(9)
      .when(recordStep(1, { read: true }))
      .records(stepRecorded(0, 1, { observedAtMs: START_MS + 9 }));
  });

  it("records a final failure", () => {
    const parts = { value: undefined, failure: failure() };
    held()
      .when(recordStep(1, parts))
      .records(stepRecorded(0, 1, parts));
  });

  it("tells apart names, keys, no key and an empty key, and tasks", () => {
    const scenario = Scenario.started(planOf({ a: {}, b: {} })).given(leased(0, 1), leased(1, 1));
    const others = [
      { name: "draw" },
      { name: "roll" },
      { key: "" },
      { key: "1" },
      { key: "draw" },
      { task: 1 },
    ];
    for (const parts of others) {
      const { decision } = scenario.when(recordStep(1, parts));
      expect(decision).toMatchObject({ accepted: true, reply: { existing: false } });
      scenario.commit(decision.accepted ? decision.events : []);
    }
    expect(scenario.state.steps).toHaveLength(others.length);
  });

  it("does not confuse a name with a name and a key", () => {
    held()
      .given(stepRecorded(0, 1, { name: "a", key: "b" }))
      .when(recordStep(1, { name: "a:b" }))
      .records(stepRecorded(0, 1, { name: "a:b" }));
  });
});

describe("RecordStep again", () => {
  it("is existing, and answers the record that counts", () => {
    const { reply } = held().given(stepRecorded(0, 1)).when(recordStep(1)).isExisting();
    expect(reply.step).toMatchObject({ number: 0, value: payload(6) });
  });

  it("is existing also under another lease, an older one, and after the run", () => {
    const scenario = held().given(
      stepRecorded(0, 1),
      leaseEnded(0, 1),
      leased(0, 2, { attempt: 1 }),
    );
    scenario.when(recordStep(2)).isExisting();
    scenario.when(recordStep(1)).isExisting();
    scenario
      .given(leaseEnded(0, 2), runClosed(RunStatus.TERMINATED))
      .when(recordStep(2))
      .isExisting();
  });

  it("is refused with another value, before a lost lease", () => {
    const scenario = held().given(stepRecorded(0, 1, { key: "k" }), leaseEnded(0, 1));
    scenario
      .when(recordStep(1, { key: "k", value: payload(5) }))
      .rejects("PAWL_FINGERPRINT_CONFLICT", {
        entity: "step",
        id: "draw/k",
        recorded: sha256(payload(6)),
        received: sha256(payload(5)),
        differs: "value",
      });
    expect(scenario.state.steps[0]?.value).toEqual(payload(6));
  });

  it("is refused as a failure after a value, and as an empty value after a failure", () => {
    const asFailure = { value: undefined, failure: failure() };
    held()
      .given(stepRecorded(0, 1))
      .when(recordStep(1, asFailure))
      .rejects("PAWL_FINGERPRINT_CONFLICT");
    held()
      .given(stepRecorded(0, 1, asFailure))
      .when(recordStep(1, { value: new Uint8Array(0) }))
      .rejects("PAWL_FINGERPRINT_CONFLICT");
  });
});

describe("RecordStep is refused", () => {
  it("for a task that the run has not", () => {
    held()
      .when(recordStep(1, { task: "none" }))
      .rejects("PAWL_TASK_NOT_FOUND");
  });

  it("when the lease is lost or the run is over", () => {
    const scenario = held().given(leaseEnded(0, 1));
    scenario.when(recordStep(1)).rejects("PAWL_LEASE_LOST");
    scenario.given(runClosed(RunStatus.TERMINATED)).when(recordStep(1)).rejects("PAWL_LEASE_LOST");
  });
});
