/** Commands to a run as a whole, and about its reviews. */

import type { ObligationSourceShape } from "@pawl/proto/log/v1/event_wire.js";
import type { ReviewChoice } from "@pawl/proto/v1/review_pb.js";
import type { OnExisting } from "@pawl/proto/v1/run_service_pb.js";
import type { CodeVersionShape, VersionChoiceShape } from "@pawl/proto/v1/version_wire.js";
import type { CompiledPlan } from "../plan/task-spec.js";
import type { SendSignal } from "./wait-commands.js";

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
  /** The run that starts it as its child, by its obligation; absent: no run does. */
  readonly parent?: ObligationSourceShape | undefined;
  /** How long it may take, in ms; undefined: no limit of its own. */
  readonly runTimeoutMs?: number | undefined;
  /** When it ends with its parent at the latest, in ms since the Unix epoch; undefined: never. */
  readonly deadlineMs?: number | undefined;
  /** Asks for the current version of the workflow; absent: the plan says which one. */
  readonly versionChoice?: VersionChoiceShape | undefined;
  /** The version that was chosen already, for a child, when its parent recorded it. */
  readonly codeVersion?: CodeVersionShape | undefined;
  /** What a run that was deleted has left of the id; the kernel fills it in. Absent: no run had it. */
  readonly after?: { readonly incarnation: number; readonly leaseVersion: number } | undefined;
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

/** Says that the deadline of a run may have passed. Made by the kernel alone. */
export interface ExpireRun {
  readonly kind: "ExpireRun";
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
