// Goal: what ended before the point of a rewind, or belongs to an earlier incarnation, stays as it is.
import { ProposalStatus } from "@pawl/proto/v1/proposal_status_pb.js";
import { RunStatus, TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { describe, expect, it } from "vitest";
import { beforeTask, rewindRun, terminateRun } from "../support/commands.js";
import {
  cancelRequested,
  completed,
  leased,
  runContinued,
  stepRecorded,
} from "../support/events.js";
import { must } from "../support/go.js";
import { planOf } from "../support/plans.js";
import { proposalEnded, proposed } from "../support/proposals.js";
import { Scenario } from "../support/scenario.js";

const { CANCELLED, COMPLETED, READY } = TaskStatus;

describe("a rewind of a stopped run to an event", () => {
  /** Terminated by event 4, after `draw` was recorded by event 3. */
  function terminated(): Scenario {
    const scenario = Scenario.ofOne().given(leased(0, 1), stepRecorded(0, 1, { name: "draw" }));
    must(scenario, terminateRun());
    expect(scenario.state.tasks[0]).toMatchObject({ status: CANCELLED, closedEvent: 4 });
    return scenario;
  }

  it("keeps what a task had recorded before it", () => {
    const scenario = terminated();
    must(scenario, rewindRun(3));
    expect(scenario.state.tasks[0]).toMatchObject({ status: READY, steps: [0] });
    expect(scenario.state.steps[0]).toMatchObject({ name: "draw", dropped: 0 });
  });

  it("drops what it recorded after it", () => {
    const scenario = terminated();
    must(scenario, rewindRun(2));
    expect(scenario.state.steps[0]).toMatchObject({ name: "draw", dropped: 2 });
  });

  it("leaves what was cancelled by then", () => {
    terminated().when(rewindRun(4)).rejects("PAWL_ILLEGAL_TRANSITION");
  });

  it("takes a request to stop back, and what was cancelled for it with its records", () => {
    const scenario = Scenario.started(planOf({ one: {}, other: { needs: ["one"] } }));
    scenario.given(leased(0, 1), stepRecorded(0, 1, { name: "draw" }));
    scenario.given(cancelRequested());
    expect(scenario.state.tasks.map(({ status }) => status)[1]).toBe(CANCELLED);
    scenario.commit([completed(0, 1)]);
    expect(scenario.state.status).toBe(RunStatus.CANCELLED);
    must(scenario, rewindRun(scenario.state.eventCount));
    expect(scenario.state.tasks.map(({ status }) => status)).toEqual([COMPLETED, READY]);
    expect(scenario.state).toMatchObject({ status: RunStatus.RUNNING, cancelRequestedAtMs: 0 });
  });
});

describe("a rewind in a later incarnation", () => {
  it("leaves the proposals of earlier ones", () => {
    const scenario = Scenario.ofOne().given(
      leased(0, 1),
      proposed(),
      proposalEnded(ProposalStatus.WITHDRAWN),
    );
    scenario.given(runContinued(2, 1), leased(0, 2, { attempt: 1 }));
    must(scenario, rewindRun(beforeTask("only")));
    expect(scenario.state).toMatchObject({ incarnation: 2, generation: 2 });
    expect(scenario.state.proposals[0]?.dropped).toBe(0);
  });
});
