import { ProposalStatus } from "@pawl/proto/v1/proposal_status_pb.js";
import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { describe, expect, it } from "vitest";
import { suspend } from "../support/commands.js";
import { completed, declared, leased, suspended } from "../support/events.js";
import { planOf } from "../support/plans.js";
import {
  approve,
  approved,
  people,
  proposalEnded,
  proposed,
  rejectIt,
  revoke,
  withdraw,
} from "../support/proposals.js";
import { Scenario } from "../support/scenario.js";
import { fingerprint } from "../support/values.js";

const { ann, bob, carl, local, olga, robot } = people;
const { APPROVED, PENDING, REJECTED, WITHDRAWN, REVOKED, EXPIRED } = ProposalStatus;
const HOUR = 3_600_000;

type Terms = Parameters<typeof proposed>[0];
const pending = (terms: Terms = {}): Scenario =>
  Scenario.ofOne().given(leased(0, 1), proposed(terms));

describe("DecideProposal", () => {
  it("approves, and records who did, in which roles, and why", () => {
    pending()
      .when(approve({ reason: "fine" }), ann)
      .records(approved({ reason: "fine" }));
  });

  it("rejects with one no", () => {
    pending({ need: 2 })
      .when(rejectIt(), bob)
      .records(
        approved({
          verdict: 2,
          principal: "bob",
          roles: ["finance"],
          reason: "too much",
          next: REJECTED,
        }),
      );
  });

  it("counts as many different principals as are needed; the same one counts once", () => {
    const scenario = pending({ need: 2 });
    scenario.when(approve(), ann).records(approved({ next: PENDING }));
    scenario.when(approve(), ann).isExisting();
    const { state } = scenario
      .when(approve(), bob)
      .records(approved({ principal: "bob", roles: ["finance"] }))
      .go();
    expect(state.proposals[0]).toMatchObject({ status: APPROVED, version: 2 });
  });

  it("takes the same decision again for recorded, whatever came of it", () => {
    const ended = proposalEnded(REVOKED);
    pending().given(approved(), ended).when(approve(), ann).isExisting();
  });

  it("lets one of two win who decide at once", () => {
    const scenario = pending().given(approved());
    scenario.when(approve(), bob).rejects("PAWL_PROPOSAL_CLOSED", {
      entity: "proposal",
      status: "APPROVED",
      command: "approve",
      legal: ["revoke"],
    });
    scenario.when(rejectIt(), bob).rejects("PAWL_PROPOSAL_CLOSED");
  });
});

describe("a decision", () => {
  it("is refused when it restates another action than the one that was shown", () => {
    pending()
      .when(approve({ fingerprint: fingerprint(9) }), ann)
      .rejects("PAWL_FINGERPRINT_CONFLICT");
  });

  it("is refused with another version", () => {
    pending()
      .when(approve({ expectedVersion: 2 }), ann)
      .rejects("PAWL_STALE_VERSION");
  });

  it("is refused from the moment its time is over, also before that was recorded", () => {
    pending()
      .at(HOUR - 1)
      .when(approve(), ann)
      .records(approved());
    pending().at(HOUR).when(approve(), ann).rejects("PAWL_PROPOSAL_CLOSED", {
      entity: "proposal",
      status: "EXPIRED",
      command: "approve",
      legal: [],
    });
  });
});

describe("who may decide: a decision", () => {
  it("is refused to those who are not named", () => {
    pending()
      .when(approve(), carl)
      .rejects("PAWL_NOT_ENTITLED", {
        principal: "carl",
        roles: ["client"],
        from: ["role:finance"],
        isRequester: false,
      });
    pending({ from: ["user:bob"] })
      .when(approve(), ann)
      .rejects("PAWL_NOT_ENTITLED");
    pending({ from: ["user:bob"] })
      .when(approve(), bob)
      .records(approved({ principal: "bob", roles: ["finance"] }));
  });

  it("is refused to the requester, and to whoever started the run, unless they may", () => {
    const both = { from: ["role:worker", "role:approver"] };
    pending(both)
      .when(approve(), robot)
      .rejects("PAWL_NOT_ENTITLED", {
        principal: "robot",
        roles: ["worker"],
        from: both.from,
        isRequester: true,
      });
    const starter = { ...ann, principal: "local", authenticated: true };
    pending(both).when(approve(), starter).rejects("PAWL_NOT_ENTITLED");
    pending({ ...both, requesterMayDecide: true })
      .when(approve(), robot)
      .records(approved({ principal: "robot", roles: ["worker"] }));
  });

  it("is refused to whoever proved nothing, unless the requester may decide", () => {
    pending().when(approve(), local).rejects("PAWL_NOT_ENTITLED");
    pending({ requesterMayDecide: true })
      .when(approve(), local)
      .records(approved({ principal: "local", authenticated: false, roles: ["approver"] }));
  });

  it("of another namespace finds nothing", () => {
    pending()
      .when(approve({ namespace: "other" }), ann)
      .rejects("PAWL_PROPOSAL_NOT_FOUND");
    pending()
      .when(approve({ proposal: 1 }), ann)
      .rejects("PAWL_PROPOSAL_NOT_FOUND");
  });
});

describe("WithdrawProposal", () => {
  it("takes back what is pending", () => {
    pending()
      .when(withdraw(), robot)
      .records(proposalEnded(WITHDRAWN, { principal: "robot", reason: "not needed" }));
  });

  it("again is the same", () => {
    pending().given(proposalEnded(WITHDRAWN)).when(withdraw(), robot).isExisting();
  });

  it("is refused for what is approved, over or of another version", () => {
    pending().given(approved()).when(withdraw(), robot).rejects("PAWL_PROPOSAL_CLOSED");
    pending().at(HOUR).when(withdraw(), robot).rejects("PAWL_PROPOSAL_CLOSED");
    pending()
      .when(withdraw({ expectedVersion: 3 }), robot)
      .rejects("PAWL_STALE_VERSION");
  });
});

describe("RevokeApproval", () => {
  const revoked = (principal: string): ReturnType<typeof proposalEnded> =>
    proposalEnded(REVOKED, { principal, reason: "wrong till" });

  it("takes an approval back: those who may decide, the requester, and operators", () => {
    pending().given(approved()).when(revoke(), bob).records(revoked("bob"));
    pending().given(approved()).when(revoke(), robot).records(revoked("robot"));
    pending().given(approved()).when(revoke(), olga).records(revoked("olga"));
    pending().given(approved()).when(revoke(), carl).rejects("PAWL_NOT_ENTITLED");
  });

  it("again is the same", () => {
    pending().given(approved(), revoked("bob")).when(revoke(), ann).isExisting();
  });

  it("is refused for what is not approved, was used, is over or of another version", () => {
    pending().when(revoke(), bob).rejects("PAWL_PROPOSAL_CLOSED");
    const used = declared({}, { consumed: { proposal: 0, standing: [] } });
    pending().given(approved(), used).when(revoke(), bob).rejects("PAWL_PROPOSAL_CLOSED");
    pending().given(approved()).at(HOUR).when(revoke(), bob).rejects("PAWL_PROPOSAL_CLOSED");
    pending()
      .given(approved())
      .when(revoke({ expectedVersion: 1 }), bob)
      .rejects("PAWL_STALE_VERSION");
  });
});

describe("ExpireProposals", () => {
  it("ends what is over by now, decided or not, and nothing else", () => {
    pending({ need: 2 })
      .given(
        approved({ next: PENDING }),
        proposed({ key: "b" }, 1),
        approved({ proposal: 1 }),
        proposed({ key: "c", expiresAtMs: Number.MAX_SAFE_INTEGER }, 2),
      )
      .at(HOUR)
      .when({ kind: "ExpireProposals" })
      .records(
        proposalEnded(EXPIRED, { reason: "1 of 2 approvals came in time." }),
        proposalEnded(EXPIRED, {
          proposal: 1,
          reason: "It was approved, but not used in time.",
        }),
      );
  });

  it("does nothing early", () => {
    pending()
      .at(HOUR - 1)
      .when({ kind: "ExpireProposals" })
      .isExisting();
  });
});

describe("a task that waits for another task's proposal", () => {
  it("goes on when that task ends and the proposal with it", () => {
    const plan = planOf({ asks: {}, waits: {}, last: { needs: ["asks", "waits"] } }, "last");
    const scenario = Scenario.started(plan).given(leased(0, 1), leased(1, 1), proposed());
    const subject = { case: "proposal", value: { proposal: 0 } } as const;
    const opened = [{ name: "its answer", key: undefined, dueAtMs: 0, subject }];
    scenario.given(suspended(1, 1, { opened }));
    scenario.commit([completed(0, 1)]);
    expect(scenario.state.proposals[0]?.status).toBe(WITHDRAWN);
    expect(scenario.state.tasks[1]?.status).toBe(TaskStatus.READY);
  });

  it("is refused when the proposal is of another run, whatever its own is called", () => {
    const plan = planOf({ asks: {}, waits: {}, last: { needs: ["asks", "waits"] } }, "last");
    const scenario = Scenario.started(plan).given(leased(0, 1), leased(1, 1), proposed());
    const waitFor = (ofRun: number) => {
      const subject = { case: "proposal", ofRun, proposal: 0 } as const;
      return suspend(1, { task: 1, waits: [{ name: "its answer", key: undefined, subject }] });
    };
    scenario.when(waitFor(2)).rejects("PAWL_INVALID_FIELD");
    expect(scenario.when(waitFor(1)).summary()).toBe("taskSuspended");
  });
});
