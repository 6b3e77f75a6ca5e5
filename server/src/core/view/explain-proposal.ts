import { ProposalVerdict } from "@pawl/proto/v1/proposal_pb.js";
import { ProposalStatus } from "@pawl/proto/v1/proposal_status_pb.js";
import { toHex } from "../identity/hex.js";
import { approvalsMissing, isProposalOver, needsCredentials } from "../proposals.js";
import type { Proposal } from "../state.js";
import { formatCount, formatLength } from "./format-length.js";

/** What a sentence about a proposal needs besides its state. */
export interface ExplainParts {
  readonly nowMs: number;
  /** Its id, for the command that decides about it. */
  readonly proposalId: string;
  /** Id of the one that took its place, when there is one. */
  readonly revisedById: string | undefined;
}

/** Sentences: where a proposal stands, whom or what it waits for, and what may be done next. True at `nowMs`, also before an end that is due was recorded. */
export function explainProposal(proposal: Proposal, parts: ExplainParts): string {
  const { status } = proposal;
  const isOpen = status === ProposalStatus.PENDING || status === ProposalStatus.APPROVED;
  if (isOpen && isProposalOver(proposal, parts.nowMs)) {
    return `Its time was over ${formatLength(parts.nowMs - proposal.declaration.expiresAtMs)} ago; it authorises nothing. ${nextOf(parts)}`;
  }
  switch (status) {
    case ProposalStatus.PENDING:
      return `It waits for ${explainMissing(proposal)}, ${untilWords(proposal, parts.nowMs)}. Look at it with: pawl approvals show ${parts.proposalId}`;
    case ProposalStatus.APPROVED:
      return `It was approved by ${approversOf(proposal)}; its operation may be performed once, ${untilWords(proposal, parts.nowMs)}. Until then it can be revoked.`;
    case ProposalStatus.CONSUMED:
      return `It was approved by ${approversOf(proposal)}, and its operation "${proposal.declaration.key}" was begun. Look at what became of it with: pawl op show '${proposal.declaration.key}'`;
    default:
      return `${explainEnd(proposal)} It authorises nothing. ${nextOf(parts)}`;
  }
}

/** Why an operation that was proposed was not performed, as a sentence. */
export function explainUnperformed(proposal: Proposal, nowMs: number): string {
  if (proposal.status === ProposalStatus.PENDING) {
    return `It waits for ${explainMissing(proposal)}, ${untilWords(proposal, nowMs)}.`;
  }
  return proposal.status === ProposalStatus.APPROVED
    ? `It was approved by ${approversOf(proposal)}, and has not been begun.`
    : `It was never begun. ${explainEnd(proposal)}`;
}

/** Whose approvals are missing: `an approval by role finance`, `2 more approvals by user ann or role finance`. */
export function explainMissing(proposal: Proposal): string {
  const { need, from } = proposal.declaration;
  const missing = approvalsMissing(proposal);
  const names = from.map(nameDecider).join(" or ");
  if (need === 1) {
    return `an approval by ${names}`;
  }
  return `${missing === need ? formatCount(missing, "approval") : `${missing} more of ${formatCount(need, "approval")}`} by ${names}`;
}

/** Hex digits of a fingerprint that a person gives: as many as make it unmistakable. */
const fingerprintDigits = 16;

/**
 * What a task waits for that waits for a decision: by whom, for how long, and the command that approves it.
 * @param runNumber number of the run in the store, which is part of the proposal's id; 0: it is not known, so no command is told.
 */
export function explainAwaited(proposal: Proposal, nowMs: number, runNumber: number): string {
  const { name, target } = proposal.declaration;
  const what = `"${name}"${target === "" ? "" : ` on "${target}"`}`;
  const words = `${explainMissing(proposal)} of ${what}, ${untilWords(proposal, nowMs)}`;
  if (runNumber === 0) {
    return words;
  }
  const digits = toHex(proposal.declaration.fingerprint, fingerprintDigits / 2);
  const command = `pawl approvals approve ${runNumber}-p${proposal.number} --fingerprint ${digits}`;
  return needsCredentials(proposal)
    ? `${words}; ${proposal.declaration.requesterMayDecide ? "one of them" : "one of them who is not the requester"} approves with a token: ${command} --token-file FILE`
    : `${words}; approve with: ${command}`;
}

/** `role finance` of `role:finance`. */
function nameDecider(name: string): string {
  return name.replace(":", " ");
}

/** `for 3 h more`. */
function untilWords(proposal: Proposal, nowMs: number): string {
  return `for ${formatLength(proposal.declaration.expiresAtMs - nowMs)} more`;
}

function approversOf(proposal: Proposal): string {
  const seen = new Set<string>();
  const names: string[] = [];
  for (const { verdict, principal, authenticated } of proposal.decisions) {
    if (verdict === ProposalVerdict.APPROVE && !seen.has(principal)) {
      seen.add(principal);
      names.push(namePrincipal(principal, authenticated));
    }
  }
  return names.join(" and ");
}

/** A principal for people: whoever proved nothing is called so. */
export function namePrincipal(principal: string, authenticated: boolean): string {
  return authenticated ? `"${principal}"` : `"${principal}" (unauthenticated)`;
}

function explainEnd(proposal: Proposal): string {
  const { status, endReason, endedBy } = proposal;
  const by = endedBy === "" ? "" : ` by "${endedBy}"`;
  switch (status) {
    case ProposalStatus.REJECTED:
      return explainRejection(proposal);
    case ProposalStatus.WITHDRAWN:
      return `It was withdrawn${by}${because(endReason)}.`;
    case ProposalStatus.SUPERSEDED:
      return "A revised proposal took its place before it was decided.";
    case ProposalStatus.REVOKED:
      return `Its approval was revoked${by}${because(endReason)}.`;
    case ProposalStatus.STALE:
      return `It was approved, but when it was to be used it no longer fitted: ${endReason}`;
    default:
      return `It expired. ${endReason}`;
  }
}

function explainRejection(proposal: Proposal): string {
  const no = proposal.decisions.find(({ verdict }) => verdict === ProposalVerdict.REJECT);
  return no === undefined
    ? "It was rejected."
    : `It was rejected by ${namePrincipal(no.principal, no.authenticated)}${because(no.reason)}.`;
}

function because(reason: string): string {
  const text = reason.replace(/[.\s]+$/, "");
  return text === "" ? "" : `: ${text}`;
}

function nextOf({ revisedById }: ExplainParts): string {
  return revisedById === undefined
    ? "The action can be proposed anew."
    : `Proposal ${revisedById} took its place.`;
}
