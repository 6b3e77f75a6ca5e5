import type {
  ApproverStandingShape,
  ConsumedApprovalShape,
} from "@pawl/proto/log/v1/event_wire.js";
import { ProposalVerdict } from "@pawl/proto/v1/proposal_pb.js";
import { ProposalStatus } from "@pawl/proto/v1/proposal_status_pb.js";
import type { IntendOperation } from "../command.js";
import type { DecideContext } from "../context.js";
import { accept, acceptExisting, type Decision, reject } from "../decision.js";
import type { EventBody } from "../event.js";
import { equalBytes } from "../identity/content-digest.js";
import { droppedProposal, isAddressed, isProposalOver, newestProposal } from "../proposals.js";
import { invalidField, notFound, type Rejection } from "../rejection.js";
import type { Proposal, Run } from "../state.js";
import { formatLength } from "../view/format-length.js";
import { endProposal, expireProposal } from "./end-proposal.js";
import { otherAction } from "./proposal-refusals.js";
import { wakeWaiters } from "./wake-waiters.js";

/** What approvals say about an intent. */
export type ApprovalCheck =
  /** None is needed, or it was consumed by the operation before. */
  | { readonly case: "free" }
  /** It is used by this intent. */
  | { readonly case: "consume"; readonly consumed: ConsumedApprovalShape }
  /** The sink must not be called. */
  | { readonly case: "stop"; readonly decision: Decision };

const free: ApprovalCheck = { case: "free" };

/**
 * Looks for the proposal that an intent rests on: the one that it names, else the newest of its key. Checked in this order: the
 * named one is of this key, fingerprint, state, time, guards, standing of the approvers. What does not hold any more ends the proposal.
 */
export function checkApproval(
  run: Run,
  command: IntendOperation,
  key: string,
  ctx: DecideContext,
): ApprovalCheck {
  const proposal =
    command.proposal === undefined
      ? (newestProposal(run, key) ?? droppedProposal(run, key))
      : run.proposals[command.proposal];
  const isElsewhere = command.proposalOf !== undefined && command.proposalOf !== ctx.runNumber;
  if (proposal === undefined || isElsewhere || proposal.declaration.key !== key) {
    return command.proposal === undefined ? free : stop(reject(notOfKey(command.proposal, key)));
  }
  if (proposal.status === ProposalStatus.CONSUMED) {
    return free;
  }
  if (!equalBytes(proposal.declaration.fingerprint, command.fingerprint)) {
    return stop(reject(otherAction(proposal, command, notAsProposed)));
  }
  if (proposal.status === ProposalStatus.PENDING || proposal.status === ProposalStatus.APPROVED) {
    return isProposalOver(proposal, ctx.nowMs)
      ? stop(ends(run, proposal, expireProposal(proposal)))
      : checkOpen(run, proposal, command, ctx);
  }
  const { status, endReason: reason } = proposal;
  return stop(acceptExisting({ existing: true, intent: awaiting(proposal, status, reason) }));
}

function checkOpen(
  run: Run,
  proposal: Proposal,
  command: IntendOperation,
  ctx: DecideContext,
): ApprovalCheck {
  if (proposal.status === ProposalStatus.PENDING) {
    const intent = awaiting(proposal, ProposalStatus.PENDING, "");
    return stop(acceptExisting({ existing: true, intent }));
  }
  const unstated = findUnstated(proposal, command);
  if (unstated !== undefined) {
    return stop(reject(unstated));
  }
  const standing = standingOfApprovers(run, proposal, ctx);
  const staleness = staleGuard(proposal, command, ctx.nowMs) ?? standing.lacks;
  if (staleness !== undefined) {
    return stop(ends(run, proposal, endProposal(proposal, ProposalStatus.STALE, staleness, "")));
  }
  return {
    case: "consume",
    consumed: { proposal: proposal.number, standing: standing.standing },
  };
}

function stop(decision: Decision): ApprovalCheck {
  return { case: "stop", decision };
}

function ends(run: Run, proposal: Proposal, ended: EventBody): Decision {
  const { status, reason } =
    ended.case === "proposalEnded"
      ? ended.value
      : { status: proposal.status, reason: proposal.endReason };
  const woken =
    proposal.status === ProposalStatus.PENDING
      ? wakeWaiters(run, proposal.number, { status, principal: "", reason: "" })
      : [];
  const intent = awaiting(proposal, status, reason);
  return accept([ended, ...woken], { existing: false, intent });
}

function awaiting(
  proposal: Proposal,
  status: ProposalStatus,
  reason: string,
): {
  readonly case: "awaiting";
  readonly operationKey: string;
  readonly proposal: number;
  readonly status: ProposalStatus;
  readonly reason: string;
} {
  const { number, declaration } = proposal;
  return { case: "awaiting", operationKey: declaration.key, proposal: number, status, reason };
}

/** A caller that forgets a guard has not shown that anything changed: the approval stays. */
function findUnstated(proposal: Proposal, command: IntendOperation): Rejection | undefined {
  const missing = proposal.declaration.guards.find(
    (guard) => guard.step === 0 && !(command.guards ?? []).some(({ name }) => name === guard.name),
  );
  return missing === undefined
    ? undefined
    : invalidField(
        "operation.guards",
        `stating the present value of guard "${missing.name}"`,
        "silent about it",
      );
}

/** Why a guard holds no more; undefined while all do. */
export function staleGuard(
  { declaration }: Proposal,
  { guards }: Pick<IntendOperation, "guards">,
  nowMs: number,
): string | undefined {
  for (const guard of declaration.guards) {
    if (guard.step > 0) {
      const ageMs = nowMs - guard.observedAtMs;
      if (ageMs > guard.maxAgeMs) {
        return `Guard "${guard.name}" was observed ${formatLength(ageMs)} ago, which is more than ${formatLength(guard.maxAgeMs)}.`;
      }
      continue;
    }
    const now = guards?.find(({ name }) => name === guard.name);
    if (now !== undefined && now.value !== guard.value) {
      return `Guard "${guard.name}" was "${guard.value}" when it was proposed, and is "${now.value}" now.`;
    }
  }
  return undefined;
}

interface Standing {
  readonly standing: ApproverStandingShape[];
  /** Why the approvals do not suffice any more. */
  readonly lacks: string | undefined;
}

/** What the approvers are now: an approval counts only while whoever gave it might still give it. */
function standingOfApprovers(run: Run, proposal: Proposal, ctx: DecideContext): Standing {
  const { from, need } = proposal.declaration;
  const standing: ApproverStandingShape[] = [];
  const fallen: string[] = [];
  const seen = new Set<string>();
  for (const { verdict, principal, authenticated } of proposal.decisions) {
    if (verdict !== ProposalVerdict.APPROVE || seen.has(principal)) {
      continue;
    }
    seen.add(principal);
    const roles = ctx.standingOf(run.namespace, principal);
    if (roles !== undefined && isAddressed(from, { principal, roles, authenticated })) {
      standing.push({ principal, roles: [...roles] });
    } else {
      fallen.push(principal);
    }
  }
  const lacks =
    standing.length >= need
      ? undefined
      : `${fallen.map((principal) => `"${principal}"`).join(", ")} approved it, but may not any more.`;
  return { standing, lacks };
}

function notOfKey(proposal: number, key: string): Rejection {
  return {
    ...notFound("proposal", `${proposal}`),
    message: `Expected a proposal ${proposal} of operation "${key}", but there is none: nothing was approved. Next: propose the action first.`,
  };
}

const notAsProposed = (key: string, differs: string): string =>
  `Expected operation "${key}" to be intended exactly as it was proposed, but its ${differs} differs. ` +
  "Nothing was called. Next: propose the changed action with `revises`.";
