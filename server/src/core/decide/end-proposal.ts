import { OperationScope } from "@pawl/proto/v1/operation_pb.js";
import { ProposalStatus } from "@pawl/proto/v1/proposal_status_pb.js";
import type { RevokeApproval, WithdrawProposal } from "../command.js";
import type { DecideContext } from "../context.js";
import { accept, acceptExisting, type Decision, reject } from "../decision.js";
import type { EventBody } from "../event.js";
import { countApprovals, isProposalOver, mayRevoke } from "../proposals.js";
import { staleVersion } from "../rejection.js";
import type { Proposal, Run } from "../state.js";
import { isRunOpen, isTaskClosed } from "../transitions.js";
import { findProposal, notEntitled, proposalClosed } from "./proposal-refusals.js";
import { wakeWaiters } from "./wake-waiters.js";

/** Takes a pending proposal back. Refusals, in order: no proposal, not PENDING or its time is over, stale version. A repeat is answered `existing`. */
export function decideWithdrawProposal(
  run: Run,
  command: WithdrawProposal,
  ctx: DecideContext,
): Decision {
  const proposal = findProposal(run, command);
  if ("reason" in proposal) {
    return reject(proposal);
  }
  if (proposal.status === ProposalStatus.WITHDRAWN) {
    return acceptExisting({ existing: true, proposal });
  }
  const { proposalId } = command;
  if (proposal.status !== ProposalStatus.PENDING) {
    return reject(proposalClosed(proposal, "withdraw it", proposalId));
  }
  if (isProposalOver(proposal, ctx.nowMs)) {
    return reject(proposalClosed(proposal, "withdraw it", proposalId, ProposalStatus.EXPIRED));
  }
  if (command.expectedVersion !== proposal.version) {
    return reject(staleVersion("proposal", command.expectedVersion, proposal.version));
  }
  const { reason } = command;
  const { principal } = ctx;
  const status = ProposalStatus.WITHDRAWN;
  const ended = endProposal(proposal, status, reason, principal);
  const woken = wakeWaiters(run, proposal.number, { status, principal, reason });
  return accept([ended, ...woken], { existing: false, proposal });
}

/**
 * Takes an approval back. Refusals, in order: no proposal, not APPROVED or its time is over, stale version, not entitled. A repeat is
 * answered `existing`.
 */
export function decideRevokeApproval(
  run: Run,
  command: RevokeApproval,
  ctx: DecideContext,
): Decision {
  const proposal = findProposal(run, command);
  if ("reason" in proposal) {
    return reject(proposal);
  }
  if (proposal.status === ProposalStatus.REVOKED) {
    return acceptExisting({ existing: true, proposal });
  }
  const { proposalId: id, reason } = command;
  if (proposal.status !== ProposalStatus.APPROVED) {
    return reject(proposalClosed(proposal, "revoke it", id));
  }
  if (isProposalOver(proposal, ctx.nowMs)) {
    return reject(proposalClosed(proposal, "revoke it", id, ProposalStatus.EXPIRED));
  }
  if (command.expectedVersion !== proposal.version) {
    return reject(staleVersion("proposal", command.expectedVersion, proposal.version));
  }
  if (!mayRevoke(run, proposal, ctx)) {
    return reject(notEntitled(proposal, ctx, { act: "revoke", id, isRequester: false }));
  }
  const ended = endProposal(proposal, ProposalStatus.REVOKED, reason, ctx.principal);
  return accept([ended], { existing: false, proposal });
}

/** Ends what is over by now. A run that is paused or set aside makes no difference: an approval must not outlive its time. */
export function decideExpireProposals(run: Run, ctx: DecideContext): Decision {
  const events: EventBody[] = [];
  for (const number of run.openProposals) {
    const proposal = run.proposals[number];
    if (proposal !== undefined && isProposalOver(proposal, ctx.nowMs)) {
      const expired = { status: ProposalStatus.EXPIRED, principal: "", reason: "" };
      events.push(expireProposal(proposal), ...wakeWaiters(run, number, expired));
    }
  }
  return events.length === 0 ? acceptExisting() : accept(events);
}

/** The end of a proposal whose time is over. */
export function expireProposal(proposal: Proposal): EventBody {
  return endProposal(proposal, ProposalStatus.EXPIRED, expiryWords(proposal), "");
}

function expiryWords(proposal: Proposal): string {
  if (proposal.status === ProposalStatus.APPROVED) {
    return "It was approved, but not used in time.";
  }
  const approvals = countApprovals(proposal);
  return approvals === 0
    ? "Nobody decided in time."
    : `${approvals} of ${proposal.declaration.need} approvals came in time.`;
}

/** The event that ends a proposal. `principal` is empty for the kernel itself. */
export function endProposal(
  proposal: Proposal,
  status: ProposalStatus,
  reason: string,
  principal: string,
): EventBody {
  return {
    case: "proposalEnded",
    value: { proposal: proposal.number, status, principal, reason },
  };
}

/** What must not stay open: all proposals of a run that ended or was asked to stop, and those of a task that ended. */
export function endNeedlessProposals(run: Run): EventBody[] {
  const events: EventBody[] = [];
  for (const number of run.openProposals) {
    const proposal = run.proposals[number];
    const why = proposal === undefined ? undefined : whyNeedless(run, proposal);
    if (proposal !== undefined && why !== undefined) {
      const isApproved = proposal.status === ProposalStatus.APPROVED;
      const status = isApproved ? ProposalStatus.REVOKED : ProposalStatus.WITHDRAWN;
      events.push(endProposal(proposal, status, why, ""));
      if (!isApproved) {
        events.push(...wakeWaiters(run, number, { status, principal: "", reason: why }));
      }
    }
  }
  return events;
}

function whyNeedless(run: Run, { declaration }: Proposal): string | undefined {
  if (run.kind === "ledger") {
    return undefined;
  }
  if (!isRunOpen(run.status) || run.openTasks === 0) {
    return "Its run ended.";
  }
  if (run.cancelRequestedAtMs !== 0) {
    return "Its run was asked to stop.";
  }
  const task = run.tasks[declaration.task];
  const isOfTask = declaration.scope === OperationScope.TASK;
  return isOfTask && task !== undefined && isTaskClosed(task.status)
    ? "Its task ended."
    : undefined;
}
