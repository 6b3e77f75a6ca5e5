import { ProposalStatus } from "@pawl/proto/v1/proposal_status_pb.js";
import type { EventBody, EventMeta, EventValue } from "../event.js";
import type { MutableProposal, MutableRun } from "../state.js";
import {
  isLegal,
  isProposalOpen,
  proposalStatusName,
  proposalTransitions,
} from "../transitions.js";
import { CorruptHistory } from "./corrupt.js";
import type { ApplyHooks } from "./hooks.js";
import { addProposal } from "./indices.js";
import { keepBytes } from "./keep.js";

/** Events about proposals alone. */
type ProposalBody = Extract<
  EventBody,
  { case: "proposalMade" | "proposalDecided" | "proposalEnded" }
>;

/** Applies an event about a proposal. */
export function applyProposalEvent(
  run: MutableRun,
  body: ProposalBody,
  meta: EventMeta,
  hooks: ApplyHooks,
): void {
  switch (body.case) {
    case "proposalMade":
      applyProposalMade(run, body.value, meta, hooks);
      break;
    case "proposalDecided":
      applyProposalDecided(run, body.value, meta, hooks);
      break;
    case "proposalEnded":
      applyProposalEnded(run, body.value, meta, hooks);
      break;
  }
}

/** The proposal of this number. */
function proposalOf(run: MutableRun, number: number): MutableProposal {
  const proposal = run.proposals[number];
  if (proposal === undefined) {
    throw new CorruptHistory(
      `a proposal ${number} in run "${run.runId}"`,
      `it has ${run.proposals.length}`,
    );
  }
  return proposal;
}

/** Moves a proposal to another state. */
export function moveProposal(
  run: MutableRun,
  proposal: MutableProposal,
  to: ProposalStatus,
  atMs: number,
): void {
  if (!isLegal(proposalTransitions, proposal.status, to)) {
    throw new CorruptHistory(
      `a state that may follow ${proposalStatusName(proposal.status)} for proposal ${proposal.number}`,
      `it is ${proposalStatusName(to)}`,
    );
  }
  proposal.status = to;
  proposal.version++;
  if (to === ProposalStatus.APPROVED) {
    proposal.approvedAtMs = atMs;
  }
  if (!isProposalOpen(to)) {
    proposal.endedAtMs = atMs;
    run.openProposals.delete(proposal.number);
  }
}

/** An action was proposed. What it revises ends with it. */
function applyProposalMade(
  run: MutableRun,
  event: EventValue<"proposalMade">,
  meta: EventMeta,
  hooks: ApplyHooks,
): void {
  const { declaration } = event;
  if (declaration === undefined || event.proposal !== run.proposals.length) {
    throw new CorruptHistory(
      `proposal ${run.proposals.length} to be made next`,
      `it is ${event.proposal}`,
    );
  }
  if (declaration.revises > 0) {
    endRevised(run, event.proposal, proposalOf(run, declaration.revises - 1), meta);
  }
  addProposal(run, {
    number: event.proposal,
    declaration: {
      ...declaration,
      payload: keepBytes(declaration.payload),
      fingerprint: keepBytes(declaration.fingerprint),
    },
    status: ProposalStatus.PENDING,
    version: 1,
    decisions: [],
    proposedAtMs: meta.atMs,
    approvedAtMs: 0,
    endedAtMs: 0,
    endedBy: "",
    endReason: "",
    revisedBy: undefined,
    operation: undefined,
    intentId: "",
    madeEvent: meta.number,
    dropped: 0,
  });
  hooks.proposalMoved(run, event.proposal);
}

function endRevised(run: MutableRun, by: number, revised: MutableProposal, meta: EventMeta): void {
  if (revised.revisedBy !== undefined) {
    throw new CorruptHistory(
      `proposal ${revised.number} to be revised once`,
      `it was by ${revised.revisedBy}`,
    );
  }
  revised.revisedBy = by;
  if (revised.status === ProposalStatus.PENDING) {
    moveProposal(run, revised, ProposalStatus.SUPERSEDED, meta.atMs);
  } else if (revised.status === ProposalStatus.APPROVED) {
    revised.endReason = "A revised proposal took its place.";
    moveProposal(run, revised, ProposalStatus.REVOKED, meta.atMs);
  }
}

/** A person approved or rejected. */
function applyProposalDecided(
  run: MutableRun,
  event: EventValue<"proposalDecided">,
  meta: EventMeta,
  hooks: ApplyHooks,
): void {
  const proposal = proposalOf(run, event.proposal);
  const { verdict, principal, authenticated, roles, reason } = event;
  proposal.decisions.push({
    verdict,
    principal,
    authenticated,
    roles,
    reason,
    decidedAtMs: meta.atMs,
  });
  if (event.next !== proposal.status) {
    moveProposal(run, proposal, event.next, meta.atMs);
    hooks.proposalMoved(run, proposal.number);
  }
}

/** A proposal is over, was taken back, or may not be used any more. */
function applyProposalEnded(
  run: MutableRun,
  event: EventValue<"proposalEnded">,
  meta: EventMeta,
  hooks: ApplyHooks,
): void {
  const proposal = proposalOf(run, event.proposal);
  proposal.endedBy = event.principal;
  proposal.endReason = event.reason;
  moveProposal(run, proposal, event.status, meta.atMs);
  hooks.proposalMoved(run, proposal.number);
}

/** The intent of an operation uses an approval, in one event with the intent. */
export function consumeProposal(
  run: MutableRun,
  event: EventValue<"operationIntended">,
  meta: EventMeta,
  hooks: ApplyHooks,
): void {
  if (event.consumed === undefined) {
    return;
  }
  const proposal = proposalOf(run, event.consumed.proposal);
  proposal.operation = event.operation;
  proposal.intentId = event.intentId;
  moveProposal(run, proposal, ProposalStatus.CONSUMED, meta.atMs);
  hooks.proposalMoved(run, proposal.number);
}
