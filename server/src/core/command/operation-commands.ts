/** Commands about operations. */

import type { FailureShape } from "@pawl/proto/v1/failure_wire.js";
import type { OperationScope, SinkKind } from "@pawl/proto/v1/operation_pb.js";
import type { TaskRef } from "./task-commands.js";

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
  /** True: it undoes something; absent: no. */
  readonly rollback?: boolean;
  /** True: when a person must decide, the lease stays and the task goes on beside the review; absent: the lease ends. */
  readonly keepsLease?: boolean;
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
  /** Up to which event the code had been given outcomes. */
  readonly seenThrough: number;
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
  /** As in `IntendOperation`. */
  readonly keepsLease?: boolean;
}
