import { ProposalStatus } from "@pawl/proto/v1/proposal_status_pb.js";
import { describe, expect, it } from "vitest";
import { cancelRun, intend, terminateRun } from "../support/commands.js";
import { declared, leased, MAIL_KEY, stepRecorded } from "../support/events.js";
import { approved, people, proposalEnded, propose, proposed } from "../support/proposals.js";
import { Scenario } from "../support/scenario.js";
import { fingerprint, START_MS } from "../support/values.js";

const held = (): Scenario => Scenario.ofOne().given(leased(0, 1));
const anyUuid = expect.any(String);
const { robot } = people;
const { WITHDRAWN, REVOKED, SUPERSEDED, REJECTED } = ProposalStatus;

describe("ProposeAction", () => {
  it("records what is to be approved, by whom, until when, and who asks", () => {
    const { state } = held()
      .at(40)
      .when(propose(1), robot)
      .records(proposed({ uuid: anyUuid, expiresAtMs: START_MS + 3_600_040 }))
      .go();
    expect(state.proposals[0]).toMatchObject({ status: ProposalStatus.PENDING, version: 1 });
  });

  it("answers the same action again with what was recorded first, whatever else is said of it", () => {
    const note = { title: "Pay", note: "other words", fields: [] };
    const again = propose(1, { expiresInMs: 5, from: ["user:eve"], display: note });
    const { reply } = held().given(proposed()).when(again, robot).isExisting();
    expect(reply.proposal).toMatchObject({ number: 0, declaration: { from: ["role:finance"] } });
  });

  it("answers the same action again also when it was used, so that a task may begin anew", () => {
    const used = declared({}, { consumed: { proposal: 0, standing: [] } });
    held().given(proposed(), approved(), used).when(propose(1), robot).isExisting();
  });

  it("refuses another action under the same key, and leaves what was shown", () => {
    const other = { fingerprint: fingerprint(9) };
    held()
      .given(proposed())
      .when(propose(1, other), robot)
      .rejects("PAWL_FINGERPRINT_CONFLICT", {
        entity: "proposal",
        id: MAIL_KEY,
        recorded: fingerprint(2),
        received: fingerprint(9),
        differs: "payload",
      });
    held()
      .given(proposed())
      .when(propose(1, { ...other, target: "eve@example.org" }), robot)
      .rejects("PAWL_FINGERPRINT_CONFLICT");
  });

  it("refuses to ask about an operation that was intended already", () => {
    held()
      .given(declared())
      .when(propose(1), robot)
      .rejects("PAWL_ILLEGAL_TRANSITION", {
        entity: "operation",
        status: "INTENDED",
        command: "ProposeAction",
        legal: ["propose under another key"],
      });
  });

  it("is for those who hold the task, in a run that goes on", () => {
    held().when(propose(2), robot).rejects("PAWL_LEASE_LOST");
    held()
      .when(propose(1, { lease: { task: 7, leaseVersion: 1 } }), robot)
      .rejects("PAWL_TASK_NOT_FOUND");
    held()
      .when(propose(1, { lease: undefined }), robot)
      .rejects("PAWL_INVALID_FIELD");
    const stopping = held();
    stopping.when(cancelRun()).records({
      case: "cancelRequested",
      value: { reason: "enough", principal: "local" },
    });
    stopping.when(propose(1), robot).rejects("PAWL_RUN_OVER");
  });
});

describe("a guard of a proposal", () => {
  it("keeps the time of the read that it rests on", () => {
    const read = stepRecorded(0, 1, { name: "quote", observedAtMs: START_MS + 5 });
    const guards = [{ name: "quote", step: "quote", key: undefined, maxAgeMs: 60_000 }];
    const kept = {
      name: "quote",
      value: "",
      step: 1,
      observedAtMs: START_MS + 5,
      maxAgeMs: 60_000,
    };
    held()
      .given(read)
      .when(propose(1, { guards }), robot)
      .records(proposed({ uuid: anyUuid, guards: [kept] }));
  });

  it("is refused on what was not read", () => {
    const guards = [{ name: "quote", step: "quote", key: undefined, maxAgeMs: 60_000 }];
    held().when(propose(1, { guards }), robot).rejects("PAWL_INVALID_FIELD");
    const step = stepRecorded(0, 1, { name: "quote" });
    held().given(step).when(propose(1, { guards }), robot).rejects("PAWL_INVALID_FIELD");
  });
});

describe("a revised proposal", () => {
  const revised = propose(1, { fingerprint: fingerprint(9), revises: 0 });
  const event = proposed({ uuid: anyUuid, fingerprint: fingerprint(9), revises: 1 }, 1);

  it("ends the pending one that it replaces, and links to it", () => {
    const { state } = held().given(proposed()).when(revised, robot).records(event).go();
    expect(state.proposals.map(({ status, revisedBy }) => [status, revisedBy])).toEqual([
      [SUPERSEDED, 1],
      [ProposalStatus.PENDING, undefined],
    ]);
  });

  it("is none of another run's, whatever this one has under its number", () => {
    held()
      .given(proposed())
      .when({ ...revised, revisesOf: 2 }, robot)
      .rejects("PAWL_PROPOSAL_NOT_FOUND");
    held()
      .given(proposed())
      .when({ ...revised, revisesOf: 1 }, robot)
      .records(event);
  });

  it("takes back an approval that was not used", () => {
    const { state } = held().given(proposed(), approved()).when(revised, robot).records(event).go();
    expect(state.proposals[0]).toMatchObject({ status: REVOKED, revisedBy: 1 });
  });

  it("leaves the end of one that had ended", () => {
    const no = approved({ verdict: 2, next: REJECTED });
    const { state } = held().given(proposed(), no).when(revised, robot).records(event).go();
    expect(state.proposals[0]).toMatchObject({ status: REJECTED, revisedBy: 1 });
  });

  it("is the same again", () => {
    held()
      .given(proposed(), proposed({ fingerprint: fingerprint(9), revises: 1 }, 1))
      .when(revised, robot)
      .isExisting();
  });

  it("leaves the first to be found by those who ask for it again", () => {
    const { reply } = held()
      .given(proposed(), proposed({ fingerprint: fingerprint(9), revises: 1 }, 1))
      .when(propose(1), robot)
      .isExisting();
    expect(reply.proposal).toMatchObject({ number: 0, status: SUPERSEDED });
  });

  it("cannot replace one that was used, or one of another operation", () => {
    const used = declared({}, { consumed: { proposal: 0, standing: [] } });
    held().given(proposed(), approved(), used).when(revised, robot).rejects("PAWL_PROPOSAL_CLOSED");
    held()
      .given(proposed({ key: "another" }))
      .when(revised, robot)
      .rejects("PAWL_PROPOSAL_NOT_FOUND");
  });
});

describe("what is open", () => {
  const withdrawn = proposalEnded(WITHDRAWN, { reason: "Its run was asked to stop." });

  it("is withdrawn when its run is asked to stop", () => {
    held()
      .given(proposed())
      .when(cancelRun())
      .records({ case: "cancelRequested", value: { reason: "enough", principal: "local" } })
      .andFollows(withdrawn);
  });

  it("is withdrawn, and an approval is revoked, when its run is terminated", () => {
    const after = held()
      .given(proposed(), proposed({ key: "other" }, 1), approved({ proposal: 1 }))
      .when(terminateRun());
    const { followed } = after.records(...(after.decision.accepted ? after.decision.events : []));
    expect(followed).toEqual([
      proposalEnded(WITHDRAWN, { reason: "Its run ended." }),
      proposalEnded(REVOKED, { proposal: 1, reason: "Its run ended." }),
    ]);
  });

  it("is not consumed by what is not exactly it", () => {
    held()
      .given(proposed())
      .when(intend(1, "i1", { key: "another", fingerprint: fingerprint(2) }))
      .records(declared({ key: `${MAIL_KEY}/another`, discriminator: "another", uuid: anyUuid }));
  });
});
