// Goal: what ended before the point of a rewind, or belongs to an earlier incarnation, stays as it is.
import { ProposalStatus } from "@pawl/proto/v1/proposal_status_pb.js";
import { RunStatus, TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { OnExisting } from "@pawl/proto/v1/run_service_pb.js";
import { describe, expect, it } from "vitest";
import { beforeTask, continueRun, rewindRun, startRun, terminateRun } from "../support/commands.js";
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
import { fingerprint, START_MS } from "../support/values.js";

const dayMs = 24 * 60 * 60 * 1000;
const plan = planOf({ only: {} }, "only");
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

  it.each([
    ["continued as new", (scenario: Scenario) => must(scenario, continueRun(2))],
    [
      "restarted",
      (scenario: Scenario) => {
        must(scenario, terminateRun());
        const again = { onExisting: OnExisting.RESTART_CLOSED, requestId: "again" };
        const { decision } = scenario.when(startRun(plan, again));
        scenario.commit(decision.accepted ? decision.events : []);
      },
    ],
  ])("knows a request again by which an earlier one went back, once it is %s", (_how, begin) => {
    const scenario = Scenario.started(plan).given(leased(0, 1));
    const asked = rewindRun(beforeTask("only"));
    must(scenario, asked);
    scenario.given(leased(0, 2, { attempt: 1 }));
    begin(scenario);
    expect(scenario.state).toMatchObject({ incarnation: 2, generation: 1, rewinds: [] });
    scenario.when(asked).isExisting();
    scenario
      .when(rewindRun(beforeTask("only"), { digest: fingerprint(2) }))
      .rejects("PAWL_FINGERPRINT_CONFLICT");
    // Its rows give the requests back, too.
    must(scenario, rewindRun(beforeTask("only"), { requestId: "another" }));
    expect(scenario.state).toMatchObject({ incarnation: 2, generation: 2 });
    expect(scenario.state.earlierRewinds).toMatchObject([{ generation: 2, atMs: START_MS }]);
  });

  it("forgets such a request a day later, when it begins once more", () => {
    const scenario = Scenario.started(plan).given(leased(0, 1));
    must(scenario, rewindRun(beforeTask("only")));
    scenario.at(dayMs - 1).given(leased(0, 2, { attempt: 1 }));
    must(scenario, continueRun(2));
    expect(scenario.state.earlierRewinds).toHaveLength(1);
    scenario.at(dayMs).given(leased(0, 3, { attempt: 1 }));
    must(scenario, continueRun(3));
    expect(scenario.state.earlierRewinds).toEqual([]);
  });
});
