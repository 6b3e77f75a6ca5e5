import { ProposalStatus } from "@pawl/proto/v1/proposal_status_pb.js";
import { PawlError } from "./errors.js";

/** What every error about a missing approval says. */
export interface ApprovalErrorParts {
  /** Id of the proposal. */
  readonly proposalId: string;
  /** Key of the operation. */
  readonly operationKey: string;
  /** What the kernel says of it, as a sentence; empty when the state says all. */
  readonly reason: string;
}

/**
 * An operation may not be performed: its newest proposal, or the one that `perform()` was called on, is no approval that can be used.
 * The sink was not called. The same error comes at every later execution.
 */
export class ApprovalError extends PawlError {
  override readonly name: string = "ApprovalError";
  /** Id of the proposal. */
  readonly proposalId: string;
  /** Key of the operation. */
  readonly operationKey: string;
  /** Why, as the kernel recorded it. */
  readonly reason: string;

  constructor(
    code: string,
    message: string,
    parts: ApprovalErrorParts & { readonly retryable: boolean },
  ) {
    const { retryable } = parts;
    super(code, parts.reason === "" ? message : `${message} ${parts.reason}`, { retryable });
    this.proposalId = parts.proposalId;
    this.operationKey = parts.operationKey;
    this.reason = parts.reason;
  }
}

/** Nobody decided yet. Worth another try later; better: wait for the decision with `ctx.approve`. */
export class ApprovalPending extends ApprovalError {
  override readonly name: string = "ApprovalPending";

  constructor(parts: ApprovalErrorParts) {
    const message = `Expected proposal ${parts.proposalId} to be approved, but it is pending.`;
    super("PAWL_APPROVAL_PENDING", message, { ...parts, retryable: true });
  }
}

/** A guard, or the standing of an approver, held no more when the approval was to be used. Propose anew with `revises`. */
export class ApprovalStale extends ApprovalError {
  override readonly name: string = "ApprovalStale";

  constructor(parts: ApprovalErrorParts) {
    const message = `Expected the approval of proposal ${parts.proposalId} still to fit, but it is stale.`;
    super("PAWL_APPROVAL_STALE", message, { ...parts, retryable: false });
  }
}

/** The approval was taken back before it was used. */
export class ApprovalRevoked extends ApprovalError {
  override readonly name: string = "ApprovalRevoked";

  constructor(parts: ApprovalErrorParts) {
    const message = `Expected the approval of proposal ${parts.proposalId} to stand, but it was revoked.`;
    super("PAWL_APPROVAL_REVOKED", message, { ...parts, retryable: false });
  }
}

/** The time of the proposal was over before the approval was used. */
export class ApprovalExpired extends ApprovalError {
  override readonly name: string = "ApprovalExpired";

  constructor(parts: ApprovalErrorParts) {
    const message = `Expected the approval of proposal ${parts.proposalId} to be used in time, but it has expired.`;
    super("PAWL_APPROVAL_EXPIRED", message, { ...parts, retryable: false });
  }
}

/** The proposal was rejected, withdrawn, or replaced by a revised one. */
export class NotApproved extends ApprovalError {
  override readonly name: string = "NotApproved";

  constructor(status: string, parts: ApprovalErrorParts) {
    const message = `Expected proposal ${parts.proposalId} to be approved, but it is ${status}.`;
    super("PAWL_NOT_APPROVED", message, { ...parts, retryable: false });
  }
}

const endNames: ReadonlyMap<ProposalStatus, string> = new Map<ProposalStatus, string>([
  [ProposalStatus.REJECTED, "rejected"],
  [ProposalStatus.WITHDRAWN, "withdrawn"],
  [ProposalStatus.SUPERSEDED, "superseded by a revised one"],
]);

/** The error for a proposal in this state. */
export function approvalErrorOf(status: ProposalStatus, parts: ApprovalErrorParts): ApprovalError {
  switch (status) {
    case ProposalStatus.PENDING:
      return new ApprovalPending(parts);
    case ProposalStatus.STALE:
      return new ApprovalStale(parts);
    case ProposalStatus.REVOKED:
      return new ApprovalRevoked(parts);
    case ProposalStatus.EXPIRED:
      return new ApprovalExpired(parts);
    default:
      return new NotApproved(endNames.get(status) ?? "over", parts);
  }
}
