import type { LeaseEndReason } from "@pawl/proto/log/v1/event_pb.js";
import type { ObligationSourceShape } from "@pawl/proto/log/v1/event_wire.js";
import type { FailureShape } from "@pawl/proto/v1/failure_wire.js";
import type { ObligationStatus } from "@pawl/proto/v1/obligation_pb.js";
import type { OperationScope, SinkKind } from "@pawl/proto/v1/operation_pb.js";
import type {
  PlanTaskShape,
  RetryPolicyShape,
  TaskTimeoutsShape,
} from "@pawl/proto/v1/plan_wire.js";
import type { ProposalVerdict } from "@pawl/proto/v1/proposal_pb.js";
import type { ProposalDisplayShape } from "@pawl/proto/v1/proposal_wire.js";
import type { ReviewChoice } from "@pawl/proto/v1/review_pb.js";
import type { OnExisting } from "@pawl/proto/v1/run_service_pb.js";
import type { CompiledPlan } from "./plan/task-spec.js";

/**
 * Commands: what may be asked of one aggregate. They are never stored, so they are free to change.
 * A task is named by its number (where a lease handle is known) or its name. Payloads are encoded `pawl.v1.Payload`
 * messages that the edge has checked; digests and fingerprints were computed there too.
 */
export type Command =
  | StartRun
  | LeaseTask
  | EndLease
  | CompleteTask
  | FailTask
  | ConfirmCancel
  | SuspendTask
  | DeclareWaits
  | CallTasks
  | SendSignal
  | ProvideInput
  | RecordStep
  | IntendOperation
  | ObserveOperation
  | ReconcileOperation
  | FireDeadline
  | ChangeTask
  | PauseRun
  | ResumeRun
  | CancelRun
  | TerminateRun
  | ResolveReview
  | ProposeAction
  | DecideProposal
  | WithdrawProposal
  | RevokeApproval
  | ExpireProposals
  | MakeObligation
  | SettleObligation;

/** A task by number or by name. */
export type TaskRef = number | string;

/** Begins a run, or says that it exists, or begins its next incarnation. */
export interface StartRun {
  readonly kind: "StartRun";
  readonly namespace: string;
  readonly runId: string;
  readonly workflow: string;
  readonly plan: CompiledPlan;
  readonly input: Uint8Array | undefined;
  readonly fingerprint: Uint8Array;
  readonly labels: readonly { readonly key: string; readonly value: string }[];
  readonly traceparent: string;
  /** What to do with a run that exists. UNSPECIFIED: attach. */
  readonly onExisting: OnExisting;
  /** Tells this request from a second one. Empty: it has none. */
  readonly requestId: string;
  /** A signal sent with the start; undefined: none. */
  readonly signal?: Omit<SendSignal, "kind" | "expectedVersion" | "from"> | undefined;
}

/** Gives a READY task to a worker. Made by the dispatcher alone. */
export interface LeaseTask {
  readonly kind: "LeaseTask";
  readonly task: number;
  readonly sessionId: string;
  readonly worker: string;
}

/** Ends a lease without a report. */
export interface EndLease {
  readonly kind: "EndLease";
  readonly task: TaskRef;
  readonly leaseVersion: number;
  readonly reason: LeaseEndReason;
  /** RETURNED only: not to be offered before, in ms from now. */
  readonly delayMs: number;
  /** RETURNED only: why, as the worker said. */
  readonly note?: string;
  readonly progress: Uint8Array | undefined;
}

/** Reports a completion. */
export interface CompleteTask {
  readonly kind: "CompleteTask";
  readonly task: TaskRef;
  readonly leaseVersion: number;
  readonly output: Uint8Array | undefined;
}

/** Reports a failed attempt. */
export interface FailTask {
  readonly kind: "FailTask";
  readonly task: TaskRef;
  readonly leaseVersion: number;
  readonly failure: FailureShape;
  /** Instead of the policy's wait, in ms. */
  readonly retryAfterMs: number | undefined;
  readonly progress: Uint8Array | undefined;
}

/** Reports that an attempt stopped because its run was asked to stop. */
export interface ConfirmCancel {
  readonly kind: "ConfirmCancel";
  readonly task: TaskRef;
  readonly leaseVersion: number;
  readonly failure: FailureShape;
}

/** What a task may wait for. Times are counted from the decision. */
export type WaitSubject =
  /** So many ms, or until a point in time (ms since the Unix epoch). */
  | {
      readonly case: "timer";
      readonly due: { readonly afterMs: number } | { readonly atMs: number };
    }
  /** The decision about a proposal of the run, by its number. */
  | { readonly case: "proposal"; readonly ofRun: number; readonly proposal: number }
  /** The answer of another run to what it was sent, by the number of the obligation. */
  | { readonly case: "obligation"; readonly obligation: number }
  | SignalToWaitFor
  | InputToAskFor;

/** A signal, for so long. */
interface SignalToWaitFor {
  readonly case: "signal";
  readonly signal: string;
  readonly timeoutMs: number | undefined;
}

/** An answer, for so long. */
interface InputToAskFor {
  readonly case: "input";
  readonly question: string;
  readonly addressee: string;
  readonly schema: string;
  readonly expiresInMs: number | undefined;
  readonly fingerprint: Uint8Array;
}

/** One thing that a task waits for. */
export interface WaitFor {
  readonly name: string;
  readonly key: string | undefined;
  readonly subject: WaitSubject;
}

/** Gives a task back until something it waits for is there. */
export interface SuspendTask {
  readonly kind: "SuspendTask";
  readonly task: TaskRef;
  readonly leaseVersion: number;
  readonly seenThrough: number;
  /** All that is waited for, each identity once. */
  readonly waits: readonly WaitFor[];
  readonly progress: Uint8Array | undefined;
}

/** Begins waits while the lease stays. */
export interface DeclareWaits {
  readonly kind: "DeclareWaits";
  readonly task: TaskRef;
  readonly leaseVersion: number;
  /** Each identity once. */
  readonly waits: readonly WaitFor[];
}

/** Calls tasks from a task's code, or gives up earlier calls. */
export interface CallTasks {
  readonly kind: "CallTasks";
  readonly task: TaskRef;
  readonly leaseVersion: number;
  /** As received, each name once. */
  readonly called: readonly PlanTaskShape[];
  /** Names of tasks that it called before. */
  readonly cancels: readonly string[];
}

/** Sends a signal into a run. */
export interface SendSignal {
  readonly kind: "SendSignal";
  readonly name: string;
  readonly payload: Uint8Array | undefined;
  /** Empty when a run sends it. */
  readonly requestId: string;
  readonly expectedVersion: number | undefined;
  /** The obligation of the run that sends it; absent: no run does. */
  readonly from?: ObligationSourceShape | undefined;
}

/** Answers or declines an input request. */
export interface ProvideInput {
  readonly kind: "ProvideInput";
  /** Incarnation of the run that the request is of. */
  readonly incarnation: number;
  readonly input: number;
  readonly expectedVersion: number;
  readonly answer:
    | { readonly case: "given"; readonly value: Uint8Array }
    | { readonly case: "declined"; readonly value: string };
}

/** Records a step. */
export interface RecordStep {
  readonly kind: "RecordStep";
  readonly task: TaskRef;
  readonly leaseVersion: number;
  readonly name: string;
  readonly key: string | undefined;
  readonly value: Uint8Array | undefined;
  readonly failure: FailureShape | undefined;
  readonly seenThrough: number;
  readonly read: boolean;
}

/** Who acts on an operation: a lease, or (scope NAMESPACE) nobody in particular. */
export interface OperationLease {
  readonly task: TaskRef;
  readonly leaseVersion: number;
}

/** Records an intent. */
export interface IntendOperation {
  readonly kind: "IntendOperation";
  readonly namespace: string;
  readonly lease: OperationLease | undefined;
  readonly intentId: string;
  readonly name: string;
  readonly scope: OperationScope;
  readonly key: string | undefined;
  readonly target: string;
  readonly payload: Uint8Array;
  readonly fingerprint: Uint8Array;
  readonly sinkKind: SinkKind;
  readonly keyWindowMs: number;
  readonly settleMs: number;
  readonly callTimeoutMs: number;
  readonly seenThrough: number;
  /** Number of the proposal that the call rests on; absent: none is expected. */
  readonly proposal?: number | undefined;
  /** Number of the aggregate that the id of that proposal names. */
  readonly proposalOf?: number | undefined;
  /** Present values of the guards of that proposal; absent: none. */
  readonly guards?: readonly GuardNow[] | undefined;
}

/** The present value of a guard. */
export interface GuardNow {
  readonly name: string;
  readonly value: string;
}

/** How a call ended. */
export type ObservedOutcome =
  | { readonly case: "result"; readonly value: Uint8Array }
  | { readonly case: "refused"; readonly value: FailureShape }
  | { readonly case: "notSent"; readonly value: FailureShape }
  | { readonly case: "unknown"; readonly value: FailureShape };

/** Records how a call ended. */
export interface ObserveOperation {
  readonly kind: "ObserveOperation";
  readonly operationKey: string;
  readonly intentId: string;
  readonly outcome: ObservedOutcome;
}

/** What a look-up found. */
export type Finding =
  | { readonly case: "found"; readonly value: Uint8Array }
  | { readonly case: "absent" }
  | { readonly case: "unknown"; readonly value: FailureShape };

/** Records what a look-up found. */
export interface ReconcileOperation {
  readonly kind: "ReconcileOperation";
  readonly lease: OperationLease | undefined;
  readonly operationKey: string;
  readonly intentId: string;
  /** The call that was looked up: a finding about an earlier one is refused. */
  readonly lookedUpIntentId: string;
  readonly finding: Finding;
}

/** Says that a deadline of a task may be due. Late or repeated ones are harmless: only what is due by `nowMs` happens. */
export interface FireDeadline {
  readonly kind: "FireDeadline";
  readonly task: number;
}

/** What an operator changes about a task. */
export type TaskChangeOrder =
  | { readonly case: "backoffSkipped" | "failed" | "attemptsReset" }
  | { readonly case: "completed"; readonly output: Uint8Array | undefined }
  | {
      readonly case: "policy";
      readonly retry: RetryPolicyShape | undefined;
      readonly timeouts: TaskTimeoutsShape | undefined;
    };

/** Changes a task. */
export interface ChangeTask {
  readonly kind: "ChangeTask";
  readonly task: TaskRef;
  readonly expectedVersion: number;
  readonly reason: string;
  readonly change: TaskChangeOrder;
  /** SHA-256 of the request. */
  readonly digest: Uint8Array;
}

/** A lease by task and version. */
export interface LeaseName {
  readonly task: number;
  readonly leaseVersion: number;
}

/** Pauses a run. */
export interface PauseRun {
  readonly kind: "PauseRun";
  readonly expectedVersion: number | undefined;
  readonly reason: string;
  /** Leases whose offers no worker has taken yet: they are withdrawn. The kernel fills them in, since acknowledgements are memory only. */
  readonly untaken: readonly LeaseName[];
}

/** Lets a paused run go on. */
export interface ResumeRun {
  readonly kind: "ResumeRun";
  readonly expectedVersion: number | undefined;
  readonly reason: string;
}

/** Asks a run to stop. */
export interface CancelRun {
  readonly kind: "CancelRun";
  readonly expectedVersion: number | undefined;
  readonly reason: string;
  /** The obligation of the run that asks; absent: no run does. */
  readonly from?: ObligationSourceShape | undefined;
}

/** Ends a run at once. */
export interface TerminateRun {
  readonly kind: "TerminateRun";
  readonly expectedVersion: number | undefined;
  readonly reason: string;
}

/** Resolves a review. */
export interface ResolveReview {
  readonly kind: "ResolveReview";
  /** Incarnation of the run that the review is of. */
  readonly incarnation: number;
  readonly review: number;
  readonly expectedVersion: number;
  readonly choice: ReviewChoice;
  readonly result: Uint8Array | undefined;
  readonly reason: string;
}

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

/** What another run is asked to do. */
export type ObligationOrder =
  | {
      readonly case: "signal";
      readonly signal: string;
      readonly payload: Uint8Array | undefined;
    }
  | { readonly case: "cancel"; readonly reason: string };

/** Records that the run owes another one something. */
export interface MakeObligation {
  readonly kind: "MakeObligation";
  readonly task: TaskRef;
  readonly leaseVersion: number;
  readonly name: string;
  readonly key: string | undefined;
  /** The receiver, in the namespace of the run. */
  readonly runId: string;
  readonly order: ObligationOrder;
  readonly seenThrough: number;
}

/** Records what the receiver of an obligation answered. Made by the kernel alone. */
export interface SettleObligation {
  readonly kind: "SettleObligation";
  readonly obligation: number;
  /** Not OPEN. */
  readonly status: ObligationStatus;
}
