import { RunStatus, TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { OnExisting } from "@pawl/proto/v1/run_service_pb.js";
import { VersionMode } from "@pawl/proto/v1/version_pb.js";
import { compileRecordedPlan } from "@pawl/server/core/apply.js";
import type { Command, StartRun } from "@pawl/server/core/command.js";
import { decideStartRun } from "@pawl/server/core/decide.js";
import { restoreRun } from "@pawl/server/core/rows/rows-to-run.js";
import { splitRows } from "@pawl/server/core/rows/run-to-rows.js";
import { codeVersionOf } from "@pawl/server/core/view/code-version.js";
import { describe, expect, it } from "vitest";
import { continueRun, leaseTask, startChild, startRun } from "../support/commands.js";
import { contextAt } from "../support/context.js";
import { leased, leaseEnded } from "../support/events.js";
import { planOf } from "../support/plans.js";
import { Scenario } from "../support/scenario.js";
import { START_MS } from "../support/values.js";

const { PINNED, FOLLOW } = VersionMode;
const at = (version: string) =>
  planOf({ only: { kind: `w@${version}` }, also: { kind: "x@current" } });

/** Version `version` of workflow `w` is current, and of no other. */
const current = (version: number) => ({
  currentVersion: (namespace: string, workflow: string) =>
    namespace === "default" && workflow === "w" ? version : 0,
});

function start(mode: VersionMode, orElse = 0, parts: Partial<StartRun> = {}): StartRun {
  return startRun(at("current"), { versionChoice: { mode, orElse }, ...parts });
}

/** What a start is recorded with, or why it is refused. */
function outcomeOf(command: StartRun, version: number): unknown {
  const decision = decideStartRun(undefined, command, contextAt(START_MS, current(version)));
  if (!decision.accepted) {
    return decision.rejection.reason;
  }
  const [first] = decision.events;
  if (first?.case !== "runStarted") {
    throw new Error("Expected a run.");
  }
  const { plan = new Uint8Array(0), codeVersion } = first.value;
  return { kinds: compileRecordedPlan(plan).tasks.map(({ kind }) => kind), codeVersion };
}

/** The command is accepted, and what it decides applied. */
function happens(scenario: Scenario, command: Command, parts = current(0)): void {
  const { decision } = scenario.when(command, parts);
  expect(decision.accepted && decision.events.length).toBeTruthy();
  scenario.commit(decision.accepted ? decision.events : []);
}

function follower(): Scenario {
  const scenario = Scenario.empty();
  const decision = decideStartRun(undefined, start(FOLLOW), contextAt(START_MS, current(2)));
  return decision.accepted ? scenario.given(...decision.events) : scenario;
}

describe("a start that asks for the current version", () => {
  it("gets the one that is current in its commit, for good, and only in kinds of its own workflow", () => {
    expect(outcomeOf(start(PINNED), 3)).toEqual({
      kinds: ["w@3", "x@current"],
      codeVersion: { version: 3, mode: PINNED },
    });
    expect(outcomeOf(start(VersionMode.UNSPECIFIED), 3)).toEqual(outcomeOf(start(PINNED), 3));
  });

  it("follows whatever is current, when it says so", () => {
    expect(outcomeOf(start(FOLLOW), 3)).toEqual({
      kinds: ["w@current", "x@current"],
      codeVersion: { version: 0, mode: FOLLOW },
    });
  });

  it("is refused while none is current, unless it says which one to take then", () => {
    expect(outcomeOf(start(PINNED), 0)).toBe("PAWL_NO_CURRENT_VERSION");
    expect(outcomeOf(start(FOLLOW), 0)).toBe("PAWL_NO_CURRENT_VERSION");
    expect(outcomeOf(start(FOLLOW, 7), 0)).toEqual({
      kinds: ["w@7", "x@current"],
      codeVersion: { version: 7, mode: PINNED },
    });
    expect(outcomeOf(start(PINNED, 7), 3)).toMatchObject({ codeVersion: { version: 3 } });
  });

  it("is answered existing when it is sent again, whatever is current by then", () => {
    for (const version of [9, 0]) {
      follower().when(start(FOLLOW), current(version)).isExisting();
      follower().when(start(PINNED), current(version)).isExisting();
    }
  });

  it("gets the version that is current at the restart, when it begins a run once more", () => {
    const ended = follower();
    ended.commit([
      {
        case: "runClosed",
        value: { status: RunStatus.FAILED, failure: undefined, principal: "" },
      },
    ]);
    const again = { onExisting: OnExisting.RESTART_FAILED, requestId: "q2" };
    ended.when(start(PINNED, 0, again), current(0)).rejects("PAWL_NO_CURRENT_VERSION");
    happens(ended, start(PINNED, 0, again), current(5));
    expect(ended.state.codeVersion).toEqual({ version: 5, mode: PINNED });
    expect(ended.state.plan.tasks[0]?.kind).toBe("w@5");
  });
});

describe("a start that names its version", () => {
  it("keeps its plan as it is, and asks nothing", () => {
    const named = startRun(at("current"));
    expect(outcomeOf(named, 3)).toEqual({
      kinds: ["w@current", "x@current"],
      codeVersion: undefined,
    });
    const { state } = Scenario.started(at("4"));
    expect(state.codeVersion).toBeUndefined();
    expect(codeVersionOf(state)).toEqual({ version: 4, mode: PINNED });
  });
});

describe("a run that follows", () => {
  it("is leased under the version that is current then, and keeps it until the lease ends", () => {
    const scenario = follower();
    scenario.when(leaseTask(0)).rejects("PAWL_NO_CURRENT_VERSION");
    happens(scenario, leaseTask(0, { codeVersion: 2 }));
    expect(scenario.state.tasks[0]).toMatchObject({ status: TaskStatus.LEASED, codeVersion: 2 });
    scenario.given(leaseEnded(0, 1));
    happens(scenario, leaseTask(0, { codeVersion: 3 }));
    expect(scenario.state.tasks[0]).toMatchObject({ leaseVersion: 2, codeVersion: 3 });
  });

  it("goes on following in its next incarnation", () => {
    const scenario = Scenario.empty();
    const one = startRun(planOf({ only: { kind: "w@current" } }), {
      versionChoice: { mode: FOLLOW, orElse: 0 },
    });
    const decision = decideStartRun(undefined, one, contextAt(START_MS, current(2)));
    scenario.given(...(decision.accepted ? decision.events : []), leased(0, 1, { codeVersion: 2 }));
    happens(scenario, continueRun(1));
    expect(scenario.state).toMatchObject({
      incarnation: 2,
      codeVersion: { version: 0, mode: FOLLOW },
    });
    expect(scenario.state.tasks[0]).toMatchObject({ status: TaskStatus.READY, codeVersion: 0 });
  });

  it("is the same after its rows are written and read", () => {
    const { state } = follower().given(leased(0, 1, { codeVersion: 2 }));
    const restored = restoreRun(splitRows(state), compileRecordedPlan);
    expect(restored.codeVersion).toEqual({ version: 0, mode: FOLLOW });
    expect(restored.tasks[0]?.codeVersion).toBe(2);
  });
});

describe("a child that asks for the current version", () => {
  const child = (mode: VersionMode) => {
    const { order, ...rest } = startChild(1);
    if (order.case !== "child") throw new Error("Expected a child.");
    const plan = planOf({ only: { kind: "w@current" } }).bytes;
    return { ...rest, order: { ...order, plan, versionChoice: { mode, orElse: 0 } } };
  };
  const held = () => Scenario.ofOne().given(leased(0, 1));

  it("gets the one that is current as its parent records it", () => {
    const scenario = held();
    happens(scenario, child(PINNED), current(6));
    const order = scenario.state.obligations[0]?.declaration.order;
    expect(order).toMatchObject({ value: { codeVersion: { version: 6, mode: PINNED } } });
    const plan = order?.case === "child" ? order.value.plan : undefined;
    expect(compileRecordedPlan(plan ?? new Uint8Array(0)).tasks[0]?.kind).toBe("w@6");
  });

  it("is refused while none is current, and not when it was recorded before", () => {
    held().when(child(FOLLOW), current(0)).rejects("PAWL_NO_CURRENT_VERSION");
    const scenario = held();
    happens(scenario, child(FOLLOW), current(6));
    scenario.when(child(FOLLOW), current(0)).isExisting();
  });
});
