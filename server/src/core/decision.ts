import type { ProposalStatus } from "@pawl/proto/v1/proposal_status_pb.js";
import type { EventBody } from "./event.js";
import type { RevisedPlan } from "./plan/revised-plan.js";
import type { Rejection } from "./rejection.js";
import type { RewindReport } from "./rewind-report.js";
import type { Obligation, Operation, Proposal, Review, Step } from "./state.js";

/** What the caller of an intent must do now; the edge turns it into `pawl.v1.IntentAnswer`. */
export type IntentReply =
  | { readonly case: "proceed"; readonly operationKey: string; readonly callMs: number }
  | { readonly case: "reuse"; readonly operationKey: string }
  | { readonly case: "lookUp"; readonly operationKey: string; readonly notBeforeMs: number }
  | { readonly case: "wait"; readonly operationKey: string; readonly notBeforeMs: number }
  | {
      readonly case: "review";
      readonly operationKey: string;
      readonly review: number;
      /** True when the task goes on under its lease. */
      readonly keepsLease: boolean;
    }
  | { readonly case: "paused"; readonly operationKey: string }
  | { readonly case: "heldBack"; readonly operationKey: string }
  | {
      readonly case: "awaiting";
      readonly operationKey: string;
      readonly proposal: number;
      readonly status: ProposalStatus;
      readonly reason: string;
    };

/** What an accepted command answers, besides its events. */
export interface Reply {
  /** True when nothing was changed because it had been recorded before. */
  readonly existing: boolean;
  readonly intent?: IntentReply;
  /** The step that counts, for a RecordStep that was recorded before. */
  readonly step?: Step;
  /** The operation, for ObserveOperation. */
  readonly operation?: Operation;
  /** The review, for ResolveReview. */
  readonly review?: Review;
  /** The proposal, for the commands about one. */
  readonly proposal?: Proposal;
  /** Number of the obligation, for MakeObligation. Where it stands is read from the state: it may have been answered at once. */
  readonly obligation?: Obligation["number"];
  /** What a revision does to the tasks, for RevisePlan. */
  readonly revision?: RevisedPlan;
  /** What becomes of the run, for RewindRun and RetryRun; absent when that was done before. */
  readonly rewind?: RewindReport;
}

/** What `decide` answers: events to apply (perhaps none) with a reply, or a rejection, perhaps with what is kept of the request as evidence. */
export type Decision =
  | { readonly accepted: true; readonly events: readonly EventBody[]; readonly reply: Reply }
  | {
      readonly accepted: false;
      readonly rejection: Rejection;
      readonly evidence?: readonly EventBody[];
    };

const freshReply: Reply = { existing: false };
const existingReply: Reply = { existing: true };
const noEvents: readonly EventBody[] = [];

/** Accepts with events. */
export function accept(events: readonly EventBody[], reply: Reply = freshReply): Decision {
  return { accepted: true, events, reply };
}

/** Accepts a repeat: nothing changes. */
export function acceptExisting(reply: Reply = existingReply): Decision {
  return { accepted: true, events: noEvents, reply };
}

/** Refuses. */
export function reject(rejection: Rejection): Decision {
  return { accepted: false, rejection };
}

/** Refuses, and keeps what was said as evidence, which changes nothing else. */
export function rejectWithEvidence(rejection: Rejection, evidence: readonly EventBody[]): Decision {
  return { accepted: false, rejection, evidence };
}
