import { notFound } from "../../core/rejection.js";
import { RejectionError } from "../../kernel/outcome.js";
import { requireText } from "../validate/fields.js";

/** Id of a proposal: the number of its run in the store, and its own number in the run. */
export function proposalId(runNumber: number, proposal: number): string {
  return `${runNumber}-p${proposal}`;
}

/** The numbers in an id of a proposal. */
export interface ProposalNumbers {
  readonly runNumber: number;
  readonly proposal: number;
}

/**
 * Reads an id of a proposal.
 *
 * @throws RejectionError PAWL_INVALID_FIELD when it is empty or overlong, PAWL_PROPOSAL_NOT_FOUND when no proposal can have it.
 */
export function parseProposalId(id: string, field: string = "proposal_id"): ProposalNumbers {
  requireText(id, field, { min: 1, max: 200 });
  const parts = /^([0-9]{1,15})-p([0-9]{1,9})$/.exec(id);
  if (parts === null) {
    throw new RejectionError(notFound("proposal", id));
  }
  return { runNumber: Number(parts[1]), proposal: Number(parts[2]) };
}
