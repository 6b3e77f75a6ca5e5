import { ProposalVerdict } from "@pawl/proto/v1/proposal_pb.js";
import { ProposalStatus } from "@pawl/proto/v1/proposal_status_pb.js";
import type { EventBody } from "../event.js";
import type { Proposal, Run } from "../state.js";
import { endWaits, type WaitOutcome } from "./end-waits.js";

/** What became of a proposal. */
export interface Settlement {
  /** State from now on: not PENDING. */
  readonly status: ProposalStatus;
  /** Who decided; empty when nobody did. */
  readonly principal: string;
  readonly reason: string;
}

/** Wakes the tasks that wait for a proposal which is not PENDING any more. */
export function wakeWaiters(run: Run, proposal: number, settlement: Settlement): EventBody[] {
  return run.openWaitsBySubject.size === 0
    ? []
    : endWaits(
        run,
        { case: "proposal", value: { proposal } },
        { case: "proposal", value: { proposal, ...settlement } },
      );
}

/** How a wait for this proposal ends that begins only now; undefined while it is PENDING. */
export function settlementOf(
  proposal: Proposal,
): { readonly atMs: number; readonly outcome: WaitOutcome } | undefined {
  if (proposal.status === ProposalStatus.PENDING) {
    return undefined;
  }
  const isExpired = proposal.status === ProposalStatus.EXPIRED;
  const isApproved = proposal.approvedAtMs !== 0 && !isExpired;
  const last = isExpired ? undefined : proposal.decisions.at(-1);
  const isNo = last?.verdict === ProposalVerdict.REJECT;
  const isDecided = isApproved || isNo;
  return {
    atMs: isApproved ? proposal.approvedAtMs : proposal.endedAtMs,
    outcome: {
      case: "proposal",
      value: {
        proposal: proposal.number,
        status: isApproved ? ProposalStatus.APPROVED : proposal.status,
        principal: isDecided ? (last?.principal ?? "") : proposal.endedBy,
        reason: isDecided ? (last?.reason ?? "") : proposal.endReason,
      },
    },
  };
}
