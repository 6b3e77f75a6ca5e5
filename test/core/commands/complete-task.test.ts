import { OperationStatus } from "@pawl/proto/v1/operation_pb.js";
import { RunStatus, TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { describe, expect, it } from "vitest";
import { completeTask } from "../support/commands.js";
import {
  attemptFailed,
  completed,
  declared,
  leased,
  leaseEnded,
  MAIL_KEY,
  observedNotSent,
  observedResult,
  observedUnknown,
  runClosed,
} from "../support/events.js";
import { planOf } from "../support/plans.js";
import { Scenario } from "../support/scenario.js";
import { payload, START_MS, sha256 } from "../support/values.js";

const held = (): Scenario => Scenario.ofOne().given(leased(0, 1));
const nothing = sha256(new Uint8Array(0));

describe("CompleteTask", () => {
  it("records the output, ends the lease, and with the last task the run", () => {
    const { state } = held()
      .at(500)
      .when(completeTask(1, { output: payload("done") }))
      .records(completed(0, 1, payload("done")))
      .andFollows(runClosed(RunStatus.COMPLETED))
      .go();
    expect(state.tasks[0]).toMatchObject({
      status: TaskStatus.COMPLETED,
      output: payload("done"),
      sessionId: "",
      usedAttempts: 1,
      closedAtMs: START_MS + 500,
    });
  });

  it("finds the task by name as well", () => {
    held()
      .when(completeTask(1, { task: "only" }))
      .records(completed(0, 1));
  });

  it("is answered existing when it comes again, also after the run is over", () => {
    const scenario = held()
      .when(completeTask(1, { output: payload(1) }))
      .records(completed(0, 1, payload(1)))
      .go();
    scenario.when(completeTask(1, { output: payload(1) })).isExisting();
  });

  it.each([
    ["another output", payload(1), payload(2)],
    ["no output", payload(1), undefined],
    ["an output", undefined, payload(2)],
    ["an empty output", undefined, new Uint8Array(0)],
  ])("refuses %s after the first was recorded", (_name, recorded, received) => {
    const scenario = held();
    scenario.commit([completed(0, 1, recorded)]);
    scenario.when(completeTask(1, { output: received })).rejects("PAWL_FINGERPRINT_CONFLICT", {
      entity: "report",
      id: "only",
      recorded: recorded === undefined ? nothing : sha256(recorded),
      received: received === undefined ? nothing : sha256(received),
      differs: "output",
    });
    expect(scenario.state.tasks[0]?.output).toEqual(recorded);
  });

  it("refuses to turn a recorded failure into a completion", () => {
    held()
      .given(attemptFailed(0, 1, { next: TaskStatus.BACKOFF, readyAtMs: START_MS + 1000 }))
      .when(completeTask(1))
      .rejects("PAWL_FINGERPRINT_CONFLICT");
  });
});

describe("CompleteTask without the lease", () => {
  it("is refused when the lease is lost, and tells why", () => {
    held()
      .given(leaseEnded(0, 1))
      .when(completeTask(1))
      .rejects("PAWL_LEASE_LOST", { held: 1, current: 1, status: "READY", cause: "returned" });
  });

  it("is refused under an older lease while a newer one holds", () => {
    held()
      .given(leaseEnded(0, 1), leased(0, 2, { attempt: 1 }))
      .when(completeTask(1))
      .rejects("PAWL_LEASE_LOST", { held: 1, current: 2, status: "LEASED", cause: "" });
  });

  it("is refused under a lease that never was", () => {
    held()
      .when(completeTask(2))
      .rejects("PAWL_LEASE_LOST", { held: 2, current: 1, status: "LEASED", cause: "" });
    Scenario.ofOne().when(completeTask(0)).rejects("PAWL_LEASE_LOST");
  });

  it("is refused for a task that the run has not", () => {
    held()
      .when(completeTask(1, { task: "none" }))
      .rejects("PAWL_TASK_NOT_FOUND", { entity: "task", id: "none" });
    held()
      .when(completeTask(1, { task: -1 }))
      .rejects("PAWL_TASK_NOT_FOUND");
    held()
      .when(completeTask(1, { task: 0.5 }))
      .rejects("PAWL_TASK_NOT_FOUND");
  });
});

describe("CompleteTask with an operation of the task", () => {
  it.each([
    ["INTENDED", []],
    ["IN_DOUBT", [observedUnknown()]],
  ])("%s is refused", (status, events) => {
    held()
      .given(declared(), ...events)
      .when(completeTask(1))
      .rejects("PAWL_OPERATIONS_UNSETTLED", {
        entity: "operation",
        status,
        command: "complete the task",
        legal: ["observe", "reconcile"],
      });
  });

  it("names the operation that is open", () => {
    const { decision } = held().given(declared()).when(completeTask(1));
    expect(decision).toMatchObject({ rejection: { message: expect.stringContaining(MAIL_KEY) } });
  });

  it.each([
    ["OBSERVED", observedResult()],
    ["INTENDED, but its call never left", observedNotSent()],
  ])("%s is accepted", (_name, event) => {
    held().given(declared(), event).when(completeTask(1)).records(completed(0, 1));
  });

  it("INTENDED by another task of the run is accepted", () => {
    const scenario = Scenario.started(planOf({ only: {}, other: {} }));
    scenario
      .given(leased(0, 1), declared(), leased(1, 1))
      .when(completeTask(1, { task: 1 }))
      .records(completed(1, 1));
    expect(scenario.state.operations[0]?.status).toBe(OperationStatus.INTENDED);
  });

  it("is refused for the lost lease first", () => {
    held().given(declared()).when(completeTask(3)).rejects("PAWL_LEASE_LOST");
  });
});
