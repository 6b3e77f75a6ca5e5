import { ProposalVerdict } from "@pawl/proto/v1/proposal_pb.js";
import { ProposalStatus } from "@pawl/proto/v1/proposal_status_pb.js";
import { type Caller, localCaller } from "./caller.js";
import type { Operation, Proposal, Run } from "./state.js";

/** Begins the name of a principal among those who may decide. */
const userPrefix = "user:";
/** Begins the name of a role among those who may decide. */
const rolePrefix = "role:";

/** Who may decide about a proposal that names nobody. */
export const defaultDeciders: readonly string[] = ["role:approver"];

/** Roles that may take any approval back. */
const revokingRoles: readonly string[] = ["operator", "admin"];

/**
 * True when the principal is among those whom the proposal names. Whoever proved nothing holds every role: on a kernel that asks for no
 * credentials nobody else is there to ask. It is shown on what it decides, and never satisfies "not the requester".
 */
export function isAddressed(from: readonly string[], caller: Caller): boolean {
  return from.some((name) =>
    name.startsWith(rolePrefix)
      ? !caller.authenticated || caller.roles.includes(name.slice(rolePrefix.length))
      : name === `${userPrefix}${caller.principal}`,
  );
}

/** True when nobody can decide about it without credentials: whoever proved nothing may be the requester, and is no user by name. */
export function needsCredentials({ declaration }: Proposal): boolean {
  return !declaration.requesterMayDecide || !isAddressed(declaration.from, localCaller);
}

/** True when the principal proposed it or started the run, or proved nothing and so might have. */
export function isRequester(run: Run, proposal: Proposal, caller: Caller): boolean {
  const { requester } = proposal.declaration;
  return (
    !caller.authenticated ||
    caller.principal === requester ||
    (run.kind === "run" && caller.principal === run.principal)
  );
}

/** True when the principal may take the approval back. */
export function mayRevoke(run: Run, proposal: Proposal, caller: Caller): boolean {
  return (
    isAddressed(proposal.declaration.from, caller) ||
    isRequester(run, proposal, caller) ||
    caller.roles.some((role) => revokingRoles.includes(role))
  );
}

/** How many different principals have approved it. */
export function countApprovals(proposal: Proposal): number {
  const approvers = new Set<string>();
  for (const { verdict, principal } of proposal.decisions) {
    if (verdict === ProposalVerdict.APPROVE) {
      approvers.add(principal);
    }
  }
  return approvers.size;
}

/** How many more must approve; 0 unless it is PENDING. */
export function approvalsMissing(proposal: Proposal): number {
  return proposal.status === ProposalStatus.PENDING
    ? Math.max(0, proposal.declaration.need - countApprovals(proposal))
    : 0;
}

/** True when its time is over, whether that was recorded yet or not. */
export function isProposalOver(proposal: Proposal, nowMs: number): boolean {
  return nowMs >= proposal.declaration.expiresAtMs;
}

/** When the next open proposal of an aggregate is over; undefined when none is open. */
export function nextExpiryMs(run: Run): number | undefined {
  let earliestMs: number | undefined;
  for (const number of run.openProposals) {
    const expiresAtMs = run.proposals[number]?.declaration.expiresAtMs ?? 0;
    earliestMs = earliestMs === undefined ? expiresAtMs : Math.min(earliestMs, expiresAtMs);
  }
  return earliestMs;
}

/** The newest proposal of an operation's key. */
export function newestProposal(run: Run, key: string): Proposal | undefined {
  const number = run.proposalsByKey.get(key);
  return number === undefined ? undefined : run.proposals[number];
}

/** The newest of an operation's key among those that a rewind dropped: what was proposed once is not done without an approval later. */
export function droppedProposal(run: Run, key: string): Proposal | undefined {
  return run.rewinds.length === 0
    ? undefined
    : run.proposals.findLast(
        ({ dropped, declaration }) => dropped !== 0 && declaration.key === key,
      );
}

/** True when an operation consumed an approval whose time is over, and no person has said since that it may be called again. */
export function isApprovalOver(run: Run, operation: Operation, nowMs: number): boolean {
  const proposal = operation.proposal === undefined ? undefined : run.proposals[operation.proposal];
  return proposal !== undefined && !operation.retryAllowed && isProposalOver(proposal, nowMs);
}
