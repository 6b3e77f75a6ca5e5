import { ProposalStatus } from "@pawl/proto/v1/proposal_status_pb.js";
import type { ProposeAction } from "../command.js";
import type { DecideContext } from "../context.js";
import { fingerprintConflict, illegalTransition, notFound, type Rejection } from "../rejection.js";
import type { Proposal, Run } from "../state.js";
import { proposalStatusName } from "../transitions.js";

/** What names a proposal in a command. */
interface OfProposal {
  readonly namespace: string;
  readonly proposal: number;
  readonly proposalId: string;
}

/** Finds a proposal; one of another namespace looks like none. */
export function findProposal(run: Run, command: OfProposal): Proposal | Rejection {
  const proposal = run.proposals[command.proposal];
  return proposal === undefined || run.namespace !== command.namespace
    ? notFound("proposal", command.proposalId)
    : proposal;
}

/** Refusal of an action that is not the one that was proposed under its key; `say` tells it, given what differs. */
export function otherAction(
  { declaration }: Proposal,
  command: Pick<ProposeAction, "target" | "fingerprint">,
  say: (key: string, differs: string) => string,
): Rejection {
  const differs = declaration.target === command.target ? "payload" : "target";
  return {
    ...fingerprintConflict({
      entity: "proposal",
      id: declaration.key,
      recorded: declaration.fingerprint,
      received: command.fingerprint,
      differs,
    }),
    message: say(declaration.key, differs),
  };
}

/** What may be done about a proposal in a final state, and why nothing else. */
const closedWords: Readonly<Record<number, readonly [why: string, next: string]>> = {
  [ProposalStatus.APPROVED]: ["it was approved already", "revoke it, if it must not be used"],
  [ProposalStatus.REJECTED]: ["it was rejected", "have the action proposed anew"],
  [ProposalStatus.EXPIRED]: ["its time is over", "have the action proposed anew"],
  [ProposalStatus.WITHDRAWN]: ["it was withdrawn", "leave it: nothing is left to decide"],
  [ProposalStatus.SUPERSEDED]: ["a revised proposal took its place", "decide about that one"],
  [ProposalStatus.CONSUMED]: ["its approval was used", "look at the operation"],
  [ProposalStatus.REVOKED]: ["its approval was revoked", "have the action proposed anew"],
  [ProposalStatus.STALE]: [
    "a guard or an approver's standing held no more",
    "have the action proposed anew",
  ],
};

/** Refusal of an act that the proposal's state does not allow. `status`: as it is now, when that was not recorded yet. */
export function proposalClosed(
  proposal: Proposal,
  act: string,
  id: string,
  status: ProposalStatus = proposal.status,
): Rejection {
  const legal = legalActs(status);
  const [why, next] =
    status === ProposalStatus.PENDING
      ? ["it was not approved yet", "approve, reject or withdraw it"]
      : (closedWords[status] ?? ["it is over", "leave it"]);
  return illegalTransition(
    "PAWL_PROPOSAL_CLOSED",
    { entity: "proposal", status: proposalStatusName(status), command: act, legal },
    `Expected proposal ${id} to be in a state in which one may ${act}, but it is ${proposalStatusName(status)}: ${why}. Nothing was changed. Next: ${next}.`,
  );
}

function legalActs(status: ProposalStatus): string[] {
  switch (status) {
    case ProposalStatus.PENDING:
      return ["approve", "reject", "withdraw"];
    case ProposalStatus.APPROVED:
      return ["revoke"];
    default:
      return [];
  }
}

/** Refusal of somebody who may not decide. */
export function notEntitled(
  proposal: Proposal,
  ctx: DecideContext,
  parts: { readonly act: string; readonly id: string; readonly isRequester: boolean },
): Rejection {
  const { act, id, isRequester } = parts;
  const from = [...proposal.declaration.from];
  const who = ctx.principal === "" ? "the kernel" : `"${ctx.principal}"`;
  const why = isRequester
    ? `${who} is the requester, who may not${ctx.authenticated ? "" : " (whoever shows no credentials may be anybody, so also the requester)"}. Next: ask another one of them`
    : `${who} is none of them. Next: ask one of them`;
  return {
    reason: "PAWL_NOT_ENTITLED",
    message: `Expected one of ${from.join(", ")} to ${act} proposal ${id}, but ${why}.`,
    detail: {
      case: "notEntitled",
      value: { principal: ctx.principal, roles: [...ctx.roles], from, isRequester },
    },
  };
}
