import { OperationStatus } from "@pawl/proto/v1/operation_pb.js";
import { ProposalStatus } from "@pawl/proto/v1/proposal_status_pb.js";
import { ReviewChoice, ReviewSubject } from "@pawl/proto/v1/review_pb.js";
import { RunStatus, TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { describe, expect, it } from "vitest";
import { beforeTask, intend, resolveReview, rewindRun } from "../support/commands.js";
import {
  declared,
  doubted,
  leased,
  observedResult,
  reviewOpened,
  runClosed,
  stepRecorded,
} from "../support/events.js";
import { must } from "../support/go.js";
import { approved, propose, proposed } from "../support/proposals.js";
import { Scenario } from "../support/scenario.js";
import { fingerprint, START_MS } from "../support/values.js";

/** `mail` of the only task is OBSERVED by event 4, after step `draw` (event 3) was recorded. */
function observed(): Scenario {
  return Scenario.ofOne().given(
    leased(0, 1),
    stepRecorded(0, 1, { name: "draw" }),
    declared(),
    observedResult(),
  );
}

describe("an operation after the point", () => {
  it("is reused under its key when the same is asked, in a place of its own", () => {
    const scenario = observed();
    must(scenario, rewindRun(beforeTask("only", "draw")));
    expect(scenario.state.operations[0]).toMatchObject({ carried: true, settledEvent: 5 });
    scenario.given(leased(0, 2, { attempt: 1 }));
    const again = intend(2, "i9", { seenThrough: 3 });
    expect(scenario.when(again).summary()).toBe("operationReused: reuse");
    must(scenario, again);
    expect(scenario.state.operations[0]).toMatchObject({
      carried: false,
      calls: 1,
      settledEvent: 8,
      settledSeenThrough: 3,
      status: OperationStatus.OBSERVED,
    });
    expect(scenario.when(intend(2, "i10")).summary()).toBe("existing: reuse");
  });

  it("waits for a person when another content is asked, and never calls the sink again", () => {
    const scenario = observed();
    must(scenario, rewindRun(beforeTask("only", "draw")));
    scenario.given(leased(0, 2, { attempt: 1 }));
    const other = { fingerprint: fingerprint(9) };
    const asked = intend(2, "i9", other);
    expect(scenario.when(asked).summary()).toBe("reviewOpened leaseEnded: review");
    must(scenario, asked);
    expect(scenario.state.reviews[0]).toMatchObject({ subject: ReviewSubject.REUSE, task: 0 });
    expect(scenario.state.tasks[0]?.status).toBe(TaskStatus.NEEDS_REVIEW);
    must(scenario, resolveReview(ReviewChoice.ACCEPT));
    scenario.given(leased(0, 3, { attempt: 1 }));
    expect(scenario.when(intend(3, "i9", other)).summary()).toBe("operationReused: reuse");
    must(scenario, intend(3, "i9", other));
    expect(scenario.when(intend(3, "i9", other)).summary()).toBe("existing: reuse");
    expect(scenario.state.operations[0]?.calls).toBe(1);
  });

  it("fails its task when a person does not accept its result", () => {
    const scenario = observed();
    must(scenario, rewindRun(beforeTask("only", "draw")));
    scenario.given(leased(0, 2, { attempt: 1 }));
    must(scenario, intend(2, "i9", { fingerprint: fingerprint(9) }));
    must(scenario, resolveReview(ReviewChoice.FAIL));
    expect(scenario.state.status).toBe(RunStatus.FAILED);
  });

  it("whose question nobody asks any more leaves no open review", () => {
    const scenario = observed();
    must(scenario, rewindRun(beforeTask("only", "draw")));
    scenario.given(leased(0, 2, { attempt: 1 }));
    must(scenario, intend(2, "i9", { fingerprint: fingerprint(9) }));
    scenario.commit([runClosed(RunStatus.TERMINATED)]);
    expect(scenario.state.reviews[0]?.resolvedAtMs).toBeGreaterThan(0);
  });

  it("that is unsettled refuses it, and its review is named", () => {
    const scenario = Scenario.ofOne().given(leased(0, 1), declared());
    scenario.when(rewindRun(1)).rejects("PAWL_OPERATIONS_UNSETTLED");
    const asked = Scenario.ofOne().given(leased(0, 1), declared(), doubted(), reviewOpened());
    const { decision } = asked.when(rewindRun(1), { runNumber: 7 });
    expect(decision).toMatchObject({ accepted: false });
    expect(JSON.stringify(decision)).toContain("resolve review 7-0");
  });

  it("before the point stays as it was given", () => {
    const scenario = observed().given(stepRecorded(0, 1, { name: "toss" }));
    must(scenario, rewindRun(beforeTask("only", "toss")));
    expect(scenario.state.operations[0]).toMatchObject({ carried: false, settledEvent: 5 });
    scenario.given(leased(0, 2, { attempt: 1 }));
    expect(scenario.when(intend(2, "i9")).summary()).toBe("existing: reuse");
  });
});

describe("an approval after the point", () => {
  it("that was not used ends, and is asked for anew: no decision reaches the new proposal", () => {
    const scenario = Scenario.ofOne().given(
      leased(0, 1),
      stepRecorded(0, 1, { name: "quote", observedAtMs: START_MS }),
      proposed(),
      approved(),
    );
    must(scenario, rewindRun(beforeTask("only", "quote")));
    expect(scenario.state.proposals[0]).toMatchObject({
      status: ProposalStatus.REVOKED,
      dropped: 2,
    });
    scenario.given(leased(0, 2, { attempt: 1 }));
    must(scenario, propose(2, { fingerprint: fingerprint(9) }));
    expect(scenario.state.proposals[1]?.status).toBe(ProposalStatus.PENDING);
    const intent = scenario.when(intend(2, "i9", { fingerprint: fingerprint(9) }));
    expect(intent.summary()).toBe("existing: awaiting");
  });

  it("that is pending is withdrawn", () => {
    const scenario = Scenario.ofOne().given(leased(0, 1), proposed());
    must(scenario, rewindRun(1));
    expect(scenario.state.proposals[0]?.status).toBe(ProposalStatus.WITHDRAWN);
    expect(scenario.state.openProposals.size).toBe(0);
  });

  it("leaves its action one that needs an approval, also of code that does not ask again", () => {
    const scenario = Scenario.ofOne().given(leased(0, 1), proposed());
    must(scenario, rewindRun(1));
    scenario.given(leased(0, 2, { attempt: 1 }));
    expect(scenario.when(intend(2, "i9")).summary()).toBe("existing: awaiting");
  });

  it("before the point stays open, with its decision", () => {
    const scenario = Scenario.ofOne().given(
      leased(0, 1),
      proposed(),
      stepRecorded(0, 1, { name: "toss" }),
      approved(),
    );
    must(scenario, rewindRun(beforeTask("only", "toss")));
    expect(scenario.state.proposals[0]).toMatchObject({
      status: ProposalStatus.APPROVED,
      dropped: 0,
    });
  });
});
