import { type Timestamp, timestampDate } from "@bufbuild/protobuf/wkt";
import type { Payload } from "@pawl/proto/v1/payload_pb.js";
import { type Proposal, ProposalVerdict } from "@pawl/proto/v1/proposal_pb.js";
import { ProposalStatus } from "@pawl/proto/v1/proposal_status_pb.js";
import type { ProposalInfo, ProposalStatusName } from "../approvals.js";
import { decodePayload } from "./codec.js";

const statusNames: ReadonlyMap<ProposalStatus, ProposalStatusName> = new Map<
  ProposalStatus,
  ProposalStatusName
>([
  [ProposalStatus.PENDING, "pending"],
  [ProposalStatus.APPROVED, "approved"],
  [ProposalStatus.REJECTED, "rejected"],
  [ProposalStatus.EXPIRED, "expired"],
  [ProposalStatus.WITHDRAWN, "withdrawn"],
  [ProposalStatus.SUPERSEDED, "superseded"],
  [ProposalStatus.CONSUMED, "consumed"],
  [ProposalStatus.REVOKED, "revoked"],
  [ProposalStatus.STALE, "stale"],
]);

/** The word for a state; one that this version does not know can only be an end. */
export function statusName(status: ProposalStatus): ProposalStatusName {
  return statusNames.get(status) ?? "withdrawn";
}

/** The state of a word; UNSPECIFIED for none. */
export function statusOfName(name: ProposalStatusName | undefined): ProposalStatus {
  for (const [status, word] of statusNames) {
    if (word === name) return status;
  }
  return ProposalStatus.UNSPECIFIED;
}

/** A proposal as the SDK shows it. */
export function proposalInfo(proposal: Proposal): ProposalInfo {
  const { display } = proposal;
  return {
    proposalId: proposal.proposalId,
    runId: proposal.runId,
    task: proposal.task,
    operation: proposal.operation,
    operationKey: proposal.operationKey,
    target: proposal.target,
    content: contentOf(proposal.payload),
    fingerprint: Buffer.from(proposal.fingerprint).toString("hex"),
    status: statusName(proposal.status),
    version: proposal.version,
    requester: proposal.requester,
    from: proposal.from,
    need: proposal.need,
    proposedAt: dateOf(proposal.proposedAt),
    expiresAt: dateOf(proposal.expiresAt),
    decisions: proposal.decisions.map((decision) => ({
      verdict: decision.verdict === ProposalVerdict.REJECT ? "reject" : "approve",
      principal: decision.principal,
      authenticated: decision.authenticated,
      roles: decision.roles,
      reason: decision.reason,
      at: dateOf(decision.decidedAt),
    })),
    revises: proposal.revises === "" ? undefined : proposal.revises,
    revisedBy: proposal.revisedBy === "" ? undefined : proposal.revisedBy,
    title: display?.title ?? "",
    note: display?.note ?? "",
    facts: Object.fromEntries((display?.fields ?? []).map(({ label, value }) => [label, value])),
    endReason: proposal.endReason,
    explanation: proposal.explanation,
  };
}

function contentOf(payload: Payload | undefined): unknown {
  return payload?.body.case === "data" ? decodePayload(payload, "the proposed content") : undefined;
}

function dateOf(at: Timestamp | undefined): Date {
  return at === undefined ? new Date(0) : timestampDate(at);
}
