/** Commands about tasks and their leases. */

import type { LeaseEndReason } from "@pawl/proto/log/v1/event_pb.js";
import type { FailureShape } from "@pawl/proto/v1/failure_wire.js";
import type {
  PlanTaskShape,
  RetryPolicyShape,
  TaskTimeoutsShape,
} from "@pawl/proto/v1/plan_wire.js";
import type { RollbackShape } from "@pawl/proto/v1/rollback_wire.js";

/** A task by number or by name. */
export type TaskRef = number | string;

/** Gives a READY task to a worker. Made by the dispatcher alone. */
export interface LeaseTask {
  readonly kind: "LeaseTask";
  readonly task: number;
  readonly sessionId: string;
  readonly worker: string;
  /** The version that is current, for a task that follows it; absent or 0 otherwise. */
  readonly codeVersion?: number;
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
  /** What is recorded of the task and its code did not reach, for people; absent: it reached everything. */
  readonly unvisited?: readonly string[];
}

/** Reports that a run's function is done and the run goes on with another input. */
export interface ContinueRun {
  readonly kind: "ContinueRun";
  readonly task: TaskRef;
  readonly leaseVersion: number;
  readonly input: Uint8Array | undefined;
  /** Up to which event the code was given outcomes: what a wait took after it goes over. Undefined: it was given all. */
  readonly seenThrough?: number | undefined;
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
  /** True when no attempt would go better, so that a person must say what to do. */
  readonly forReview?: boolean;
}

/** Reports that an attempt stopped because its run was asked to stop. */
export interface ConfirmCancel {
  readonly kind: "ConfirmCancel";
  readonly task: TaskRef;
  readonly leaseVersion: number;
  readonly failure: FailureShape;
}

/** Calls tasks from a task's code, or gives up earlier calls. */
export interface CallTasks {
  readonly kind: "CallTasks";
  readonly task: TaskRef;
  readonly leaseVersion: number;
  /** As received, each name once. */
  readonly called: readonly PlanTaskShape[];
  /** Names of tasks that it called before, and that end at once. */
  readonly cancels: readonly string[];
  /** Such that are asked to stop. */
  readonly stops: readonly { readonly name: string; readonly reason: string }[];
  /** Names of such that are let go. */
  readonly abandons: readonly string[];
}

/** Records a step. */
export interface RecordStep {
  readonly kind: "RecordStep";
  /** Name under which its value is published. Absent: it is not. */
  readonly publishes?: string | undefined;
  /** Number of the update that it answers. Absent: none. */
  readonly answers?: number | undefined;
  readonly task: TaskRef;
  readonly leaseVersion: number;
  readonly name: string;
  readonly key: string | undefined;
  readonly value: Uint8Array | undefined;
  readonly failure: FailureShape | undefined;
  readonly seenThrough: number;
  readonly read: boolean;
  /** How old it may be when its run goes on from an earlier point, in ms. Absent or 0: as old as it is. */
  readonly maxAgeMs?: number | undefined;
  /** The operation that the value is the content of, for a rollback; absent: none. */
  readonly rollback?: RollbackShape | undefined;
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
