import { ProposalVerdict } from "@pawl/proto/v1/proposal_pb.js";
import { ProposalStatus } from "@pawl/proto/v1/proposal_status_pb.js";
import type { DecideProposal } from "../command.js";
import type { DecideContext } from "../context.js";
import { accept, acceptExisting, type Decision, reject } from "../decision.js";
import { equalBytes } from "../identity/content-digest.js";
import { limits } from "../limits.js";
import { countApprovals, isAddressed, isProposalOver, isRequester } from "../proposals.js";
import { fingerprintConflict, type Rejection, staleVersion } from "../rejection.js";
import type { Proposal, Run } from "../state.js";
import { findProposal, notEntitled, proposalClosed } from "./proposal-refusals.js";
import { wakeWaiters } from "./wake-waiters.js";

/**
 * Approves or rejects. Refusals, in order: no proposal, another fingerprint than the one that was shown, not PENDING or its time is
 * over, stale version, not entitled. The same decision of the same principal is answered `existing`, whatever came after it.
 */
export function decideDecideProposal(
  run: Run,
  command: DecideProposal,
  ctx: DecideContext,
): Decision {
  const proposal = findProposal(run, command);
  if ("reason" in proposal) {
    return reject(proposal);
  }
  if (!equalBytes(proposal.declaration.fingerprint, command.fingerprint)) {
    return reject(otherFingerprint(proposal, command));
  }
  const isRepeat = proposal.decisions.some(
    (said) => said.verdict === command.verdict && said.principal === ctx.principal,
  );
  if (isRepeat) {
    return acceptExisting({ existing: true, proposal });
  }
  const refusal = refuse(run, proposal, command, ctx);
  if (refusal !== undefined) {
    return reject(refusal);
  }
  const next = statusAfter(proposal, command.verdict);
  const { principal } = ctx;
  const { reason } = command;
  return accept(
    [
      {
        case: "proposalDecided",
        value: {
          proposal: proposal.number,
          verdict: command.verdict,
          principal,
          authenticated: ctx.authenticated,
          roles: [...ctx.roles],
          reason,
          next,
        },
      },
      ...(next === ProposalStatus.PENDING
        ? []
        : wakeWaiters(run, proposal.number, { status: next, principal, reason })),
    ],
    { existing: false, proposal },
  );
}

function refuse(
  run: Run,
  proposal: Proposal,
  command: DecideProposal,
  ctx: DecideContext,
): Rejection | undefined {
  const act = command.verdict === ProposalVerdict.APPROVE ? "approve" : "reject";
  const { declaration } = proposal;
  const id = command.proposalId;
  if (proposal.status !== ProposalStatus.PENDING) {
    return proposalClosed(proposal, act, id);
  }
  if (isProposalOver(proposal, ctx.nowMs)) {
    return proposalClosed(proposal, act, id, ProposalStatus.EXPIRED);
  }
  if (command.expectedVersion !== proposal.version) {
    return staleVersion("proposal", command.expectedVersion, proposal.version);
  }
  const isExcluded = !declaration.requesterMayDecide && isRequester(run, proposal, ctx);
  if (isExcluded || !isAddressed(declaration.from, ctx)) {
    return notEntitled(proposal, ctx, { act, id, isRequester: isExcluded });
  }
  return proposal.decisions.length < limits.decisionsMax
    ? undefined
    : proposalClosed(proposal, act, id);
}

/** One no is enough; of yeses as many as are needed, each by another principal. */
function statusAfter(proposal: Proposal, verdict: ProposalVerdict): ProposalStatus {
  if (verdict === ProposalVerdict.REJECT) {
    return ProposalStatus.REJECTED;
  }
  return countApprovals(proposal) + 1 >= proposal.declaration.need
    ? ProposalStatus.APPROVED
    : ProposalStatus.PENDING;
}

function otherFingerprint(proposal: Proposal, command: DecideProposal): Rejection {
  return {
    ...fingerprintConflict({
      entity: "proposal",
      id: command.proposalId,
      recorded: proposal.declaration.fingerprint,
      received: command.fingerprint,
      differs: "fingerprint",
    }),
    message:
      `Expected the decision to restate the fingerprint of proposal ${command.proposalId}, but it is another action's. ` +
      "Nothing was decided. Next: look at the proposal again, and decide about what it shows.",
  };
}
