import type { GetProposalResponse } from "@pawl/proto/v1/approval_service_pb.js";
import type { Proposal } from "@pawl/proto/v1/proposal_pb.js";
import type { ProposalStatus } from "@pawl/proto/v1/proposal_status_pb.js";
import { usageError } from "./cli-error.js";
import { CALL_TIMEOUT_MS } from "./connection.js";
import type { FollowUps } from "./follow-up.js";
import { fingerprintOf, shortFingerprint } from "./format/proposal.js";
import { type ReadList, readList } from "./paging.js";
import type { KernelSession, NextSteps } from "./with-kernel.js";

/** A proposal, and the one that it revises. */
export interface FoundProposal {
  readonly proposal: Proposal;
  readonly revised: Proposal | undefined;
}

/** Reads a proposal by its id. */
export async function readProposal(
  { kernel, namespace }: KernelSession,
  proposalId: string,
): Promise<FoundProposal> {
  const which = { case: "proposalId", value: proposalId } as const;
  const answer = await kernel.approvals.getProposal(
    { namespace, which },
    { timeoutMs: CALL_TIMEOUT_MS },
  );
  return requireProposal(answer);
}

/** The proposal in an answer. */
export function requireProposal({ proposal, revised }: GetProposalResponse): FoundProposal {
  if (proposal === undefined) {
    throw new Error("Expected a proposal in the answer, but it is absent");
  }
  return { proposal, revised };
}

/** Which proposals to read. */
export interface ProposalFilter {
  /** Empty: of all runs. */
  readonly runId: string;
  readonly status: ProposalStatus;
  /** Empty: whoever may decide. */
  readonly addressee: string;
  readonly limit: number;
}

/** Reads proposals, oldest first. */
export function readProposals(
  { kernel, namespace }: KernelSession,
  { runId, status, addressee, limit }: ProposalFilter,
): Promise<ReadList<Proposal>> {
  return readList(limit, async (page) => {
    const answer = await kernel.approvals.listProposals(
      { namespace, runId, status, addressee, ...page },
      { timeoutMs: CALL_TIMEOUT_MS },
    );
    return { items: answer.proposals, nextPageToken: answer.nextPageToken };
  });
}

/** Fewest hex digits that a decision must restate. */
const DIGITS_MIN = 16;

/** Refuses a decision that restates another fingerprint than the proposal's: whoever decides saw something else. */
export function requireShown(proposal: Proposal, stated: string, followUps: FollowUps): void {
  const next = [followUps.command("approvals show", [proposal.proposalId])];
  const digits = stated.toLowerCase();
  if (!/^[0-9a-f]+$/.test(digits) || digits.length < DIGITS_MIN || digits.length > 64) {
    throw usageError(
      `Expected --fingerprint with ${DIGITS_MIN} to 64 hex digits, as pawl approvals show prints them, but it is "${stated}".`,
      next,
    );
  }
  if (!fingerprintOf(proposal).startsWith(digits)) {
    throw usageError(
      `Expected the fingerprint of what proposal ${proposal.proposalId} shows, ${shortFingerprint(proposal)}…, but --fingerprint is ${stated}: it is mistyped, or you saw another action. Nothing was decided; look at it again.`,
      next,
    );
  }
}

/** After a refusal of a command about a proposal: what it says by itself is more than a list of others. */
export function nextForProposal(proposalId: string): NextSteps {
  return (reason, followUps) => {
    if (reason !== "PAWL_PROPOSAL_CLOSED" && reason !== "PAWL_STALE_VERSION") return undefined;
    return [followUps.command("approvals show", [proposalId])];
  };
}
