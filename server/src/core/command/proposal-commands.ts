/** Commands about proposals. */

import type { OperationScope } from "@pawl/proto/v1/operation_pb.js";
import type { ProposalVerdict } from "@pawl/proto/v1/proposal_pb.js";
import type { ProposalDisplayShape } from "@pawl/proto/v1/proposal_wire.js";
import type { OperationLease } from "./operation-commands.js";

/** What must hold when an approval is used: a value that is restated then, or a recorded read that must not be too old. */
export type ProposedGuard =
  | { readonly name: string; readonly value: string }
  | {
      readonly name: string;
      readonly step: string;
      readonly key: string | undefined;
      readonly maxAgeMs: number;
    };

/** Proposes an action, or says that it was proposed. */
export interface ProposeAction {
  readonly kind: "ProposeAction";
  readonly namespace: string;
  readonly lease: OperationLease | undefined;
  readonly name: string;
  readonly scope: OperationScope;
  readonly key: string | undefined;
  readonly target: string;
  readonly payload: Uint8Array;
  readonly fingerprint: Uint8Array;
  readonly from: readonly string[];
  readonly need: number;
  readonly requesterMayDecide: boolean;
  readonly expiresInMs: number;
  readonly guards: readonly ProposedGuard[];
  readonly display: ProposalDisplayShape | undefined;
  /** Number of the proposal that it revises. */
  readonly revises: number | undefined;
  /** Number of the aggregate that the id of that proposal names; absent: this one. */
  readonly revisesOf?: number | undefined;
}

/** Names a proposal of an aggregate that is found by its number: it must be of this namespace. */
interface OfProposal {
  readonly namespace: string;
  readonly proposal: number;
  /** The proposal's id, for sentences. */
  readonly proposalId: string;
  readonly expectedVersion: number;
  readonly reason: string;
}

/** Approves or rejects. */
export interface DecideProposal extends OfProposal {
  readonly kind: "DecideProposal";
  readonly fingerprint: Uint8Array;
  readonly verdict: ProposalVerdict;
}

/** Takes a pending proposal back. */
export interface WithdrawProposal extends OfProposal {
  readonly kind: "WithdrawProposal";
}

/** Takes an approval back that was not used. */
export interface RevokeApproval extends OfProposal {
  readonly kind: "RevokeApproval";
}

/** Says that proposals may be over. Only those that are by `nowMs` end. */
export interface ExpireProposals {
  readonly kind: "ExpireProposals";
}
