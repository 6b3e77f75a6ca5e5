import { RunStatus, TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { OnExisting } from "@pawl/proto/v1/run_service_pb.js";
import type { StartRun } from "@pawl/server/core/command.js";
import type { EventBody } from "@pawl/server/core/event.js";
import { describe, expect, it } from "vitest";
import {
  changeTask,
  leaseTask,
  sendSignal,
  signalWait,
  startRun,
  suspend,
} from "../support/commands.js";
import {
  completed,
  declared,
  leased,
  leaseEnded,
  observedNotSent,
  observedResult,
  signalDeclared,
  signalReceived,
  signalTaken,
  stepRecorded,
  suspended,
} from "../support/events.js";
import { planOf } from "../support/plans.js";
import { Scenario } from "../support/scenario.js";
import { fingerprint, payload, START_MS } from "../support/values.js";

const { ATTACH, REFUSE, REPLACE_OPEN, RESTART_FAILED, RESTART_CLOSED } = OnExisting;
const dayMs = 24 * 60 * 60 * 1000;
const plan = planOf({ only: { retry: { attemptsMax: 1 } } }, "only");

/** Starts `r1` once more. */
function again(onExisting: OnExisting, parts: Partial<StartRun> = {}): StartRun {
  return startRun(plan, { onExisting, requestId: "q2", ...parts });
}

function restarted(incarnation: number, requestId = "q2"): EventBody {
  return {
    case: "runRestarted",
    value: {
      incarnation,
      plan: plan.bytes,
      input: undefined,
      labels: [],
      traceparent: "",
      principal: "local",
      requestId,
    },
  };
}

const open = (): Scenario => Scenario.started(plan);
function done(): Scenario {
  const scenario = open().given(leased(0, 1));
  scenario.commit([completed(0, 1)]);
  return scenario;
}
function ended(status: RunStatus): Scenario {
  const scenario = open();
  scenario.commit([{ case: "runClosed", value: { status, failure: undefined, principal: "" } }]);
  return scenario;
}

/** What `sendSignal` sends. */
const sent = { name: "go", payload: payload(1), requestId: "q1" };

const states = [
  ["RUNNING", open],
  ["COMPLETED", done],
  ["FAILED", () => ended(RunStatus.FAILED)],
  ["CANCELLED", () => ended(RunStatus.CANCELLED)],
  ["TERMINATED", () => ended(RunStatus.TERMINATED)],
] as const;

describe("a start that finds a run", () => {
  it.each([
    [ATTACH, ["existing", "existing", "existing", "existing", "existing"]],
    [
      REFUSE,
      [
        "PAWL_RUN_EXISTS",
        "PAWL_RUN_EXISTS",
        "PAWL_RUN_EXISTS",
        "PAWL_RUN_EXISTS",
        "PAWL_RUN_EXISTS",
      ],
    ],
    [REPLACE_OPEN, ["runClosed runRestarted", "existing", "existing", "existing", "existing"]],
    [RESTART_FAILED, ["existing", "existing", "runRestarted", "runRestarted", "runRestarted"]],
    [RESTART_CLOSED, ["existing", "runRestarted", "runRestarted", "runRestarted", "runRestarted"]],
  ])("does by its policy, %s, in each state what is said", (policy, expected) => {
    expect(states.map(([, make]) => make().when(again(policy)).summary())).toEqual(expected);
  });

  it("with another input or workflow is refused whatever its policy", () => {
    for (const policy of [ATTACH, REFUSE, REPLACE_OPEN, RESTART_FAILED, RESTART_CLOSED]) {
      done()
        .when(again(policy, { fingerprint: fingerprint(2) }))
        .rejects("PAWL_FINGERPRINT_CONFLICT");
    }
  });

  it("says where the run stands that it may not touch", () => {
    done()
      .when(again(REFUSE))
      .rejects("PAWL_RUN_EXISTS", { runId: "r1", incarnation: 1, status: "COMPLETED" });
  });
});

describe("a run that begins once more", () => {
  it("is its next incarnation, with everything of the last one gone but its names and versions", () => {
    const scenario = open().given(leased(0, 1), stepRecorded(0, 1), declared());
    scenario.given(observedResult());
    scenario.commit([completed(0, 1)]);
    const { version } = scenario.state;
    scenario.at(5000).when(again(RESTART_CLOSED)).records(restarted(2));
    expect(scenario.state).toMatchObject({
      ...{ runId: "r1", workflow: "w", fingerprint: fingerprint(1) },
      ...{ incarnation: 2, status: RunStatus.RUNNING, version: version + 1 },
      ...{ startedAtMs: START_MS + 5000, closedAtMs: 0, openTasks: 1, failedTasks: 0 },
      ...{ operations: [], steps: [], reviews: [], waits: [] },
      ...{ leaseVersionBase: 1, begunAtEvent: 8, eventCount: 8 },
    });
    expect(scenario.state.tasks).toMatchObject([
      { status: TaskStatus.READY, version: 0, attempt: 0 },
    ]);
    expect(scenario.state.operationsByKey.size + scenario.state.stepsByIdentity.size).toBe(0);
  });

  it("takes plan, input and labels of the request that began it", () => {
    const other = planOf({ first: {}, second: { needs: ["first"] } }, "second");
    const scenario = done();
    const parts = { plan: other, input: payload(7), labels: [{ key: "a", value: "b" }] };
    expect(scenario.when(again(RESTART_CLOSED, parts)).summary()).toBe("runRestarted");
    const decision = scenario.when(again(RESTART_CLOSED, parts)).decision;
    scenario.commit(decision.accepted ? decision.events : []);
    expect(scenario.state).toMatchObject({ input: payload(7), labels: parts.labels, openTasks: 2 });
    expect(scenario.state.plan.tasks.map(({ name }) => name)).toEqual(["first", "second"]);
  });

  it("gives no lease a version that an earlier incarnation gave, so that a late report reaches nobody", () => {
    const scenario = open().given(leased(0, 1));
    scenario.commit([completed(0, 1)]);
    scenario.when(again(RESTART_CLOSED)).records(restarted(2));
    scenario.when(leaseTask(0)).records(leased(0, 2, { attempt: 1 }));
    scenario
      .when({ kind: "CompleteTask", task: 0, leaseVersion: 1, output: undefined })
      .rejects("PAWL_LEASE_LOST");
  });

  it("ends the open one first, in the same commit", () => {
    const scenario = open().given(leased(0, 1));
    expect(scenario.when(again(REPLACE_OPEN)).summary()).toBe("leaseEnded runClosed runRestarted");
  });

  it("does not while the outcome of an effect is not known", () => {
    const scenario = open().given(leased(0, 1), declared());
    scenario.when(again(REPLACE_OPEN)).rejects("PAWL_OPERATIONS_UNSETTLED", {
      entity: "operation",
      status: "INTENDED",
      command: "StartRun",
      legal: ["OBSERVED", "REFUSED", "ABANDONED"],
    });
  });

  it("does although an effect was intended whose call provably never left", () => {
    const scenario = open().given(leased(0, 1), declared(), observedNotSent());
    scenario.commit([completed(0, 1)]);
    scenario.when(again(RESTART_CLOSED)).records(restarted(2));
    expect(scenario.state.unsettled.size).toBe(0);
  });
});

describe("an order about a task of a run that begins once more", () => {
  it("is stale, since no version of a task is shown that an earlier incarnation showed", () => {
    const scenario = open().given(leased(0, 1));
    scenario.commit([completed(0, 1)]);
    const order = changeTask({ case: "failed" }, 2);
    scenario.when(again(RESTART_CLOSED)).records(restarted(2));
    scenario.given(leased(0, 2, { attempt: 1 }), leaseEnded(0, 2));
    expect(scenario.state.tasks).toMatchObject([{ version: 2 }]);
    scenario.when(order).rejects("PAWL_STALE_VERSION", { entity: "task", expected: 2, actual: 6 });
    const next = changeTask({ case: "failed" }, 6);
    expect(scenario.when(next).summary()).toBe("taskChanged");
  });

  it("is not taken for one about its present task when it is sent again", () => {
    const scenario = open();
    const order = changeTask({ case: "failed" }, 0);
    const { decision } = scenario.when(order);
    scenario.commit(decision.accepted ? decision.events : []);
    scenario.when(order).isExisting();
    scenario.when(again(RESTART_CLOSED)).records(restarted(2));
    scenario.when(order).rejects("PAWL_STALE_VERSION");
  });
});

describe("a signal of a run that begins once more", () => {
  const wait = (scenario: Scenario, leaseVersion: number): Scenario =>
    scenario.given(
      leased(0, leaseVersion, { attempt: 1 }),
      suspended(0, leaseVersion, { opened: [signalDeclared()], waits: [0] }),
    );
  const taken = (): Scenario => {
    const scenario = wait(open(), 1);
    return scenario.when(sendSignal()).records(signalReceived(), signalTaken(0, 0)).go();
  };

  const accepted = (scenario: Scenario, command: StartRun): Scenario => {
    const { decision } = scenario.when(command);
    scenario.commit(decision.accepted ? decision.events : []);
    return scenario;
  };

  it("is not delivered again when its request is sent again", () => {
    const scenario = taken();
    expect(scenario.when(again(REPLACE_OPEN)).summary()).toBe("runClosed runRestarted");
    accepted(scenario, again(REPLACE_OPEN));
    scenario.when(sendSignal()).isExisting();
    wait(scenario, 2).when(sendSignal()).isExisting();
    scenario.when(sendSignal({ payload: payload(2) })).rejects("PAWL_FINGERPRINT_CONFLICT");
    scenario.when(sendSignal({ payload: undefined })).rejects("PAWL_FINGERPRINT_CONFLICT");
    scenario.when(sendSignal({ name: "stop" })).rejects("PAWL_FINGERPRINT_CONFLICT");
    expect(scenario.state.signals).toMatchObject([{ takenBy: "earlier", payload: undefined }]);
    scenario
      .when(sendSignal({ requestId: "q2" }))
      .records(signalReceived({ requestId: "q2" }), signalTaken(0, 0, 1));
  });

  it("is carried on when nothing took it, and taken before those that come later", () => {
    const scenario = open().given(signalReceived());
    accepted(scenario, again(REPLACE_OPEN));
    expect(scenario.state).toMatchObject({ incarnation: 2, keptSignalCount: 1 });
    scenario.when(sendSignal()).isExisting();
    scenario.given(signalReceived({ requestId: "q2" }), leased(0, 1, { attempt: 1 }));
    scenario
      .when(suspend(1, { waits: [signalWait()] }))
      .records(suspended(0, 1, { opened: [signalDeclared()], waits: [0] }), signalTaken(0, 0, 0));
    expect(scenario.state.signals).toMatchObject([{ payload: payload(1), takenBy: 0 }, {}]);
  });

  it("beside its start reaches no later incarnation, and no end of one", () => {
    const first = again(RESTART_CLOSED, { signal: { ...sent, requestId: "s2" } });
    const scenario = done();
    scenario.when(first).records(restarted(2), signalReceived({ requestId: "s2" }));
    wait(scenario, 2).given(signalTaken(0, 0));
    accepted(scenario, again(REPLACE_OPEN, { requestId: "q3" }));
    wait(scenario, 3).when(first).isExisting();
    scenario.when(again(RESTART_CLOSED, { signal: { ...sent, requestId: "s3" } })).isExisting();
    scenario.commit([
      {
        case: "runClosed",
        value: { status: RunStatus.TERMINATED, failure: undefined, principal: "" },
      },
    ]);
    scenario.when(first).isExisting();
  });

  it("is no other because a new start brings it", () => {
    const beside = (parts: Partial<typeof sent>): StartRun =>
      again(REPLACE_OPEN, { signal: { ...sent, ...parts } });
    taken()
      .when(beside({ payload: payload(2) }))
      .rejects("PAWL_FINGERPRINT_CONFLICT");
    expect(taken().when(beside({})).summary()).toBe("runClosed runRestarted");
  });

  it("is refused with the start when too many are kept", () => {
    const many = Array.from({ length: 1000 }, (_, at) => signalReceived({ requestId: `m${at}` }));
    open()
      .given(...many)
      .when(again(REPLACE_OPEN, { signal: sent }))
      .rejects("PAWL_OVERLOADED");
  });
});

describe("the request of a start", () => {
  it("sent again begins nothing more, also when what it began has ended", () => {
    const scenario = done();
    scenario.when(again(RESTART_CLOSED)).records(restarted(2));
    scenario.when(again(RESTART_CLOSED)).isExisting();
    scenario.given(leased(0, 2, { attempt: 1 }));
    scenario.commit([completed(0, 2)]);
    scenario.when(again(RESTART_CLOSED)).isExisting();
    scenario.when(again(REFUSE)).isExisting();
    scenario.when(again(RESTART_CLOSED, { requestId: "q3" })).records(restarted(3, "q3"));
  });

  it("that began the first incarnation is known too", () => {
    const scenario = Scenario.empty();
    const first = again(RESTART_CLOSED, { requestId: "q1" });
    const { decision } = scenario.when(first);
    scenario.commit(decision.accepted ? decision.events : []);
    scenario.given(leased(0, 1));
    scenario.commit([completed(0, 1)]);
    scenario.when(first).isExisting();
  });

  it("is remembered for 24 hours, and as long as nothing else began the run once more", () => {
    const scenario = done();
    scenario.when(again(RESTART_CLOSED)).records(restarted(2));
    scenario.given(leased(0, 2, { attempt: 1 }));
    scenario.commit([completed(0, 2)]);
    scenario
      .at(10 * dayMs)
      .when(again(RESTART_CLOSED))
      .isExisting();
    scenario.when(again(RESTART_CLOSED, { requestId: "q3" })).records(restarted(3, "q3"));
    expect(scenario.state.startRequests).toEqual([
      { requestId: "q3", atMs: START_MS + 10 * dayMs },
    ]);
  });

  it("is one of 256 a day", () => {
    const scenario = done();
    for (let number = 2; number <= 257; number++) {
      scenario
        .when(again(RESTART_CLOSED, { requestId: `q${number}` }))
        .records(restarted(number, `q${number}`));
      scenario.given(leased(0, number, { attempt: 1 }));
      scenario.commit([completed(0, number)]);
    }
    const next = again(RESTART_CLOSED, { requestId: "q258" });
    scenario.when(next).rejects("PAWL_OVERLOADED");
    scenario.at(dayMs).when(next).records(restarted(258, "q258"));
  });
});
