import { DoubtCause } from "@pawl/proto/log/v1/event_pb.js";
import { OperationScope, SinkKind } from "@pawl/proto/v1/operation_pb.js";
import { ProposalStatus } from "@pawl/proto/v1/proposal_status_pb.js";
import { ReviewChoice } from "@pawl/proto/v1/review_pb.js";
import { describe, expect, it } from "vitest";
import { intend, observeResult } from "../support/commands.js";
import {
  declared,
  intended,
  leased,
  MAIL_KEY,
  observedNotSent,
  observedResult,
  reviewOpened,
  reviewResolved,
} from "../support/events.js";
import { approved, people, proposalEnded, propose, proposed } from "../support/proposals.js";
import { Scenario } from "../support/scenario.js";
import { fingerprint, START_MS } from "../support/values.js";

const { ann, robot } = people;
const { PENDING, APPROVED, CONSUMED, EXPIRED, STALE, REVOKED, REJECTED } = ProposalStatus;
const HOUR = 3_600_000;
const operationKey = MAIL_KEY;
const anyUuid = expect.any(String);
const annStands = { principal: "ann", roles: ["approver", "finance"] };
const consumed = { proposal: 0, standing: [annStands] };

type Terms = Parameters<typeof proposed>[0];
const pending = (terms: Terms = {}): Scenario =>
  Scenario.ofOne().given(leased(0, 1), proposed(terms));
const awaiting = (status: ProposalStatus, reason = "", proposal = 0) =>
  ({ case: "awaiting", operationKey, proposal, status, reason }) as const;

describe("the intent of a proposed operation", () => {
  it("waits while it is not decided", () => {
    pending().when(intend(1, "i1"), robot).isExisting().answering(awaiting(PENDING));
  });

  it("uses the approval in one event with itself, and records what the approvers are now", () => {
    const { state } = pending()
      .given(approved())
      .at(40)
      .when(intend(1, "i1"), robot)
      .records(declared({ uuid: anyUuid }, { callByMs: START_MS + 1040, consumed }))
      .answering({ case: "proceed", operationKey, callMs: 1000 })
      .go();
    expect(state.proposals[0]).toMatchObject({ status: CONSUMED, operation: 0, intentId: "i1" });
    expect(state.operations[0]).toMatchObject({ proposal: 0 });
  });

  it.each([
    ["payload", { fingerprint: fingerprint(9) }],
    ["target", { fingerprint: fingerprint(9), target: "eve@example.org" }],
  ])("is refused when its %s differs from what was approved", (differs, other) => {
    pending()
      .given(approved())
      .when(intend(1, "i1", other), robot)
      .rejects("PAWL_FINGERPRINT_CONFLICT", {
        entity: "proposal",
        id: MAIL_KEY,
        recorded: fingerprint(2),
        received: fingerprint(9),
        differs,
      });
  });

  it("is told of every end that no call may follow", () => {
    const ends = [
      [proposalEnded(EXPIRED, { reason: "late" }), EXPIRED, "late"],
      [approved({ verdict: 2, next: REJECTED }), REJECTED, ""],
    ] as const;
    for (const [event, status, reason] of ends) {
      pending()
        .given(event)
        .when(intend(1, "i1"), robot)
        .isExisting()
        .answering(awaiting(status, reason));
    }
    pending()
      .given(approved(), proposalEnded(REVOKED, { reason: "no" }))
      .when(intend(1, "i1"), robot)
      .isExisting()
      .answering(awaiting(REVOKED, "no"));
  });

  it("ends an approval whose time is over, before its deadline was heard", () => {
    const reason = "It was approved, but not used in time.";
    pending()
      .given(approved())
      .at(HOUR)
      .when(intend(1, "i1"), robot)
      .records(proposalEnded(EXPIRED, { reason }))
      .answering(awaiting(EXPIRED, reason));
  });
});

describe("an intent that names its proposal", () => {
  it("is refused when its key does not have it", () => {
    Scenario.ofOne()
      .given(leased(0, 1))
      .when(intend(1, "i1", { proposal: 0 }), robot)
      .rejects("PAWL_PROPOSAL_NOT_FOUND");
    pending({ key: "another" })
      .given(approved())
      .when(intend(1, "i1", { proposal: 0 }), robot)
      .rejects("PAWL_PROPOSAL_NOT_FOUND");
  });

  it("that names a revised one is told what became of that one, not of its successor", () => {
    const other = fingerprint(9);
    const scenario = pending().given(
      approved(),
      proposed({ fingerprint: other, revises: 1 }, 1),
      approved({ proposal: 1 }),
    );
    scenario
      .when(intend(1, "i1", { proposal: 0 }), robot)
      .isExisting()
      .answering(awaiting(REVOKED, "A revised proposal took its place."));
    scenario
      .when(intend(1, "i1", { proposal: 1, fingerprint: other }), robot)
      .records(
        declared(
          { uuid: anyUuid, fingerprint: other },
          { consumed: { proposal: 1, standing: [annStands] } },
        ),
      );
  });
});

describe("what must still hold when an approval is used", () => {
  const document = { name: "document", value: "v17", step: 0, observedAtMs: 0, maxAgeMs: 0 };
  const quote = {
    name: "quote",
    value: "",
    step: 1,
    observedAtMs: START_MS,
    maxAgeMs: 600_000,
  };

  it("is a version that is restated", () => {
    const scenario = pending({ guards: [document] }).given(approved());
    scenario.when(intend(1, "i1"), robot).rejects("PAWL_INVALID_FIELD");
    scenario
      .when(intend(1, "i1", { guards: [{ name: "document", value: "v17" }] }), robot)
      .records(declared({ uuid: anyUuid }, { consumed }));
  });

  it("is a version that has not changed: else the approval is STALE, and says why", () => {
    const reason = 'Guard "document" was "v17" when it was proposed, and is "v18" now.';
    const guards = [{ name: "document", value: "v18" }];
    const { state } = pending({ guards: [document] })
      .given(approved())
      .when(intend(1, "i1", { guards }), robot)
      .records(proposalEnded(STALE, { reason }))
      .answering(awaiting(STALE, reason))
      .go();
    expect(state.operations).toEqual([]);
  });

  it("is an observation that is not too old", () => {
    const old = pending({ guards: [quote] }).given(approved());
    old.at(600_000).when(intend(1, "i1"), robot).summary();
    pending({ guards: [quote] })
      .given(approved())
      .at(600_000)
      .when(intend(1, "i1"), robot)
      .records(declared({ uuid: anyUuid }, { callByMs: START_MS + 601_000, consumed }));
    const reason = 'Guard "quote" was observed 11 min ago, which is more than 10 min.';
    pending({ guards: [quote] })
      .given(approved())
      .at(600_001)
      .when(intend(1, "i1"), robot)
      .records(proposalEnded(STALE, { reason }));
  });

  it("is that its approvers might still approve it", () => {
    const reason = '"ann" approved it, but may not any more.';
    const gone = { ...robot, standingOf: () => undefined };
    pending()
      .given(approved())
      .when(intend(1, "i1"), gone)
      .records(proposalEnded(STALE, { reason }));
    const demoted = { ...robot, standingOf: () => ["approver"] };
    pending()
      .given(approved())
      .when(intend(1, "i1"), demoted)
      .records(proposalEnded(STALE, { reason }));
  });

  it("of several approvers each counts by itself", () => {
    const onlyBob = {
      ...robot,
      standingOf: (_: string, name: string) => (name === "bob" ? ["finance"] : undefined),
    };
    const reason = '"ann" approved it, but may not any more.';
    pending({ need: 2 })
      .given(approved({ next: PENDING }), approved({ principal: "bob", roles: ["finance"] }))
      .when(intend(1, "i1"), onlyBob)
      .records(proposalEnded(STALE, { reason }));
  });
});

describe("after it was used", () => {
  const used = (parts: Parameters<typeof declared>[0] = {}): Scenario =>
    pending().given(approved(), declared(parts, { consumed }));

  it("the same intent again gets the same answer, and further calls need no new approval", () => {
    used()
      .when(intend(1, "i1"), robot)
      .isExisting()
      .answering({ case: "proceed", operationKey, callMs: 1000 });
    used()
      .given(observedNotSent("i1"))
      .at(HOUR - 1)
      .when(intend(1, "i2"), robot)
      .records(intended({ intentId: "i2", callByMs: START_MS + HOUR - 1 + 1000 }));
  });

  it("no further call is made once its time is over: a person is asked", () => {
    const scenario = used().given(observedNotSent("i1")).at(HOUR);
    const { decision } = scenario.when(intend(1, "i2"), robot);
    expect(decision).toMatchObject({
      accepted: true,
      reply: { intent: { case: "review", operationKey, review: 0 } },
      events: [
        { case: "operationDoubted", value: { cause: DoubtCause.APPROVAL_OVER } },
        { case: "reviewOpened", value: { known: expect.stringContaining("is over") } },
        { case: "leaseEnded" },
      ],
    });
  });

  it("an idempotent sink in doubt is not called again either", () => {
    const parts = { sinkKind: SinkKind.IDEMPOTENT, keyWindowEndsMs: START_MS + 10 * HOUR };
    const scenario = used(parts).at(HOUR);
    expect(scenario.when(intend(1, "i2"), robot).summary()).toBe(
      "operationDoubted reviewOpened leaseEnded: review",
    );
  });

  it("a person's retry allows one call more", () => {
    const scenario = used().given(observedNotSent("i1")).at(HOUR);
    scenario.given(
      { case: "operationDoubted", value: { operation: 0, cause: DoubtCause.APPROVAL_OVER } },
      reviewOpened(),
      reviewResolved(ReviewChoice.RETRY),
    );
    scenario
      .when(intend(1, "i2"), robot)
      .records(intended({ intentId: "i2", callByMs: START_MS + HOUR + 1000 }));
    scenario.given(observedNotSent("i2"));
    expect(scenario.when(intend(1, "i3"), robot).summary()).toContain("reviewOpened");
  });

  it("recording its outcome is always allowed", () => {
    used()
      .at(10 * HOUR)
      .when(observeResult("i1"), robot)
      .records(observedResult());
  });
});

describe("an operation of scope NAMESPACE", () => {
  const scope = { scope: OperationScope.NAMESPACE, key: "invoice-1", lease: undefined };

  it("is an aggregate from its proposal on, and goes on with its intent", () => {
    const scenario = Scenario.empty();
    const first = scenario.when(propose(0, scope), robot);
    expect(first.summary()).toBe("proposalMade");
    scenario.given(...(first.decision.accepted ? first.decision.events : []));
    expect(scenario.state).toMatchObject({ kind: "ledger", namespace: "default" });
    expect(scenario.when(intend(0, "i1", scope), robot).summary()).toBe("existing: awaiting");
    scenario.given(approved());
    const intent = scenario.when(intend(0, "i1", scope), ann);
    expect(intent.summary()).toBe("operationIntended: proceed");
    expect(scenario.state.proposals[0]).toMatchObject({ status: APPROVED });
  });
});
