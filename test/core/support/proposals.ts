import { ProposalVerdict } from "@pawl/proto/v1/proposal_pb.js";
import { ProposalStatus } from "@pawl/proto/v1/proposal_status_pb.js";
import type {
  DecideProposal,
  ProposeAction,
  RevokeApproval,
  WithdrawProposal,
} from "@pawl/server/core/command.js";
import type { EventBody, EventCase, EventValue } from "@pawl/server/core/event.js";
import { MAIL_KEY } from "./events.js";
import type { ContextParts } from "./scenario.js";
import { fingerprint, mailAction, START_MS } from "./values.js";

/** Who decides in these tests, by name: what each proved, and which roles it holds. */
export const people: Readonly<
  Record<"robot" | "ann" | "bob" | "carl" | "olga" | "local", ContextParts>
> = {
  robot: who("robot", ["worker"]),
  ann: who("ann", ["approver", "finance"]),
  bob: who("bob", ["finance"]),
  carl: who("carl", ["client"]),
  olga: who("olga", ["operator"]),
  local: { principal: "local", roles: ["approver"], authenticated: false, standingOf },
};

function who(principal: string, roles: readonly string[]): ContextParts {
  return { principal, roles, authenticated: true, standingOf };
}

/** What each may do now: what they could when they decided. */
function standingOf(_namespace: string, principal: string): readonly string[] | undefined {
  return principal === "local" || principal === "ann" || principal === "bob"
    ? ["approver", "finance"]
    : undefined;
}

/** Proposes `mail` of task 0, for an hour. */
export function propose(leaseVersion: number, parts: Partial<ProposeAction> = {}): ProposeAction {
  return {
    kind: "ProposeAction",
    namespace: "default",
    lease: { task: 0, leaseVersion },
    ...mailAction,
    key: undefined,
    from: ["role:finance"],
    need: 1,
    requesterMayDecide: false,
    expiresInMs: 3_600_000,
    guards: [],
    display: undefined,
    revises: undefined,
    ...parts,
  };
}

/** What names proposal 0 in its first version. */
const named = {
  namespace: "default",
  proposal: 0,
  proposalId: "1-p0",
  expectedVersion: 1,
  reason: "",
};

/** Approves proposal 0. */
export function approve(parts: Partial<DecideProposal> = {}): DecideProposal {
  const verdict = ProposalVerdict.APPROVE;
  return { kind: "DecideProposal", ...named, fingerprint: fingerprint(2), verdict, ...parts };
}

/** Rejects proposal 0. */
export function rejectIt(parts: Partial<DecideProposal> = {}): DecideProposal {
  return approve({ verdict: ProposalVerdict.REJECT, reason: "too much", ...parts });
}

/** Withdraws proposal 0. */
export function withdraw(parts: Partial<WithdrawProposal> = {}): WithdrawProposal {
  return { kind: "WithdrawProposal", ...named, reason: "not needed", ...parts };
}

/** Revokes the approval of proposal 0. */
export function revoke(parts: Partial<RevokeApproval> = {}): RevokeApproval {
  return { kind: "RevokeApproval", ...named, expectedVersion: 2, reason: "wrong till", ...parts };
}

type Event<C extends EventCase> = Extract<EventBody, { case: C }>;

/** `mail` of task 0 was proposed by `robot` at the start of the run, for an hour. */
export function proposed(
  parts: Partial<NonNullable<EventValue<"proposalMade">["declaration"]>> = {},
  proposal = 0,
): Event<"proposalMade"> {
  return {
    case: "proposalMade",
    value: {
      proposal,
      declaration: {
        key: MAIL_KEY,
        uuid: "u",
        ...mailAction,
        task: 0,
        discriminator: undefined,
        planVersion: 1,
        namespace: "",
        requester: "robot",
        requesterAuthenticated: true,
        from: ["role:finance"],
        need: 1,
        requesterMayDecide: false,
        expiresAtMs: START_MS + 3_600_000,
        guards: [],
        display: undefined,
        revises: 0,
        ...parts,
      },
    },
  };
}

/** `ann` approved proposal 0. */
export function approved(
  parts: Partial<EventValue<"proposalDecided">> = {},
): Event<"proposalDecided"> {
  return {
    case: "proposalDecided",
    value: {
      proposal: 0,
      verdict: ProposalVerdict.APPROVE,
      principal: "ann",
      authenticated: true,
      roles: ["approver", "finance"],
      reason: "",
      next: ProposalStatus.APPROVED,
      ...parts,
    },
  };
}

/** Proposal 0 ended by the kernel itself. */
export function proposalEnded(
  status: ProposalStatus,
  parts: Partial<EventValue<"proposalEnded">> = {},
): Event<"proposalEnded"> {
  return {
    case: "proposalEnded",
    value: { proposal: 0, status, principal: "", reason: "", ...parts },
  };
}
