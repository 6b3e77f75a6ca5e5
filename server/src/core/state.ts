import type { LeaseEndReason } from "@pawl/proto/log/v1/event_pb.js";
import type {
  LegalHoldShape,
  ObligationSourceShape,
  RunDeadlineShape,
} from "@pawl/proto/log/v1/event_wire.js";
import type { DeletionRowShape } from "@pawl/proto/log/v1/row_wire.js";

import type { FailureShape } from "@pawl/proto/v1/failure_wire.js";

import type {
  PlanTaskShape,
  RetryPolicyShape,
  TaskTimeoutsShape,
} from "@pawl/proto/v1/plan_wire.js";

import type { RunStatus, TaskStatus } from "@pawl/proto/v1/run_pb.js";
import type { CodeVersionShape } from "@pawl/proto/v1/version_wire.js";
import type { MutablePlanVersions, PlanVersions } from "./plan/plan-versions.js";
import type { CompiledPlan, TaskSpec } from "./plan/task-spec.js";
import type { StartRequest } from "./start-requests.js";
import type {
  MutableInput,
  MutableObligation,
  MutableOperation,
  MutableProposal,
  MutablePublication,
  MutableReview,
  MutableSignal,
  MutableStep,
  MutableWait,
} from "./state-parts.js";

export type {
  MutableInput,
  MutableObligation,
  MutableOperation,
  MutableProposal,
  MutablePublication,
  MutableReview,
  MutableSignal,
  MutableStep,
  MutableWait,
} from "./state-parts.js";

/**
 * The state of one aggregate: a run, or an operation of scope NAMESPACE, which is stored like a run.
 * Only `apply/*` changes it; `decide/*` gets it as `Run` (read-only). Times are ms since the Unix epoch, 0 = not yet.
 * Payloads are encoded `pawl.v1.Payload` messages as they were received.
 */
export interface MutableRun {
  /** `run`, or `ledger` for an operation of scope NAMESPACE. */
  kind: "run" | "ledger";
  namespace: string;
  runId: string;
  incarnation: number;
  /** Lease versions of this incarnation are above it: no lease of an earlier one counts. 0 in the first. */
  leaseVersionBase: number;
  /** Number of the event that began this incarnation. */
  begunAtEvent: number;
  /** Number of the first proposal of this incarnation: those of earlier ones keep their numbers, so that no decision ever reaches another. */
  proposalBase: number;
  /** Requests that began an incarnation, as long as they are remembered. */
  startRequests: readonly StartRequest[];
  workflow: string;
  status: RunStatus;
  version: number;
  /** The present plan. Its tasks have their numbers in the run: their places in the plan only until it is revised. */
  plan: CompiledPlan;
  /** All versions of its plan; undefined while it was never revised. */
  revisions: MutablePlanVersions | undefined;
  input: Uint8Array | undefined;
  fingerprint: Uint8Array;
  labels: readonly { readonly key: string; readonly value: string }[];
  traceparent: string;
  principal: string;
  startedAtMs: number;
  closedAtMs: number;
  cancelRequestedAtMs: number;
  cancelReason: string;
  /** Who paused it, when and why; undefined while it is not paused. */
  pause: RunPause | undefined;
  /** That it is deleted; undefined while it is not. */
  deletion: DeletionRowShape | undefined;
  /** Who holds it, when and why; undefined: nobody does. */
  legalHold: LegalHoldShape | undefined;
  failure: FailureShape | undefined;
  /** Number of events applied: the number of the last one. */
  eventCount: number;
  /** Text of the kernel fault that set the run aside; empty: none. */
  fault: string;
  /** Those of the first plan by their place in it, then those that other tasks called and those that revisions added, in the order in which they joined. */
  tasks: MutableTask[];
  /** What the called ones are, in their order. */
  called: CalledTask[];
  /** Task numbers of the called ones by name; of several of one name the last, since the others are of callers that were superseded. */
  calledByName: Map<string, number>;
  /** Derived: tasks that failed or were cancelled, and of which no rollback began yet. Empty between commands. */
  rollbacksDue: Set<number>;
  /** Derived: tasks that have ended while tasks that they called are open. */
  endedCallers: Set<number>;
  /** Tasks that have not ended. */
  openTasks: number;
  /** Tasks of the present plan that FAILED or were SKIPPED: what became of a called one is for its caller. */
  failedTasks: number;
  operations: MutableOperation[];
  /** Operation numbers by key. */
  operationsByKey: Map<string, number>;
  /** Derived: numbers of the operations that are not settled. */
  unsettled: Set<number>;
  steps: MutableStep[];
  /** Step numbers by `stepIdentity`. */
  stepsByIdentity: Map<string, number>;
  /** Derived: what this incarnation has published last, by name. */
  published: Map<string, MutablePublication>;
  /** Derived: what those values take, in bytes. */
  publishedBytes: number;
  reviews: MutableReview[];
  /** Derived: operations in doubt whose task has ended, so that no attempt will find out; nobody was asked about them yet. */
  orphaned: Set<number>;
  waits: MutableWait[];
  /** Wait numbers by `waitIdentity`. */
  waitsByIdentity: Map<string, number>;
  /** Derived: numbers of the open waits by what they wait for, in order; see `subjectKey`. */
  openWaitsBySubject: Map<string, number[]>;
  proposals: MutableProposal[];
  /** Number of the newest proposal by operation key. */
  proposalsByKey: Map<string, number>;
  /** Derived: numbers of the proposals that are PENDING or APPROVED. */
  openProposals: Set<number>;
  /** Signals and updates, also of earlier incarnations: they keep their numbers, so that no request of one is ever taken for new. */
  signals: MutableSignal[];
  /** Signal numbers by `signalRequest`. */
  signalsByRequest: Map<string, number>;
  /** Derived: numbers of the signals and updates that no wait has taken, by what a wait for them is found by (see `keptKey`), in order. */
  keptSignals: Map<string, number[]>;
  /** Derived: how many signals are kept. */
  keptSignalCount: number;
  /** Derived: what they take, in bytes; see `signalBytes`. */
  keptSignalBytes: number;
  inputs: MutableInput[];
  /** What it owes or owed other runs, also in earlier incarnations: numbers never come again, so that no receiver takes one for another. */
  obligations: MutableObligation[];
  /** Numbers of those of this incarnation by `obligationIdentity`. */
  obligationsByIdentity: Map<string, number>;
  /** Derived: numbers of those that no receiver has answered yet. */
  openObligations: Set<number>;
  /** The run that started it as its child, by its obligation; undefined: no run did. */
  parent: ObligationSourceShape | undefined;
  /** Which version of its workflow's code it goes by, when its start asked for the current one; undefined: its plan alone says it. */
  codeVersion: CodeVersionShape | undefined;
  /** Derived: true once its end was told to its parent, or is about to be. */
  toldParent: boolean;
  /** Derived: numbers of the obligations by which children were started that have not ended, and end with this run. */
  openChildren: Set<number>;
  /** Derived: those among them whose parent, this run, has ended or begun once more: they are to be ended. */
  strayChildren: Set<number>;
  /** When it is ended if it is still open; undefined: never. */
  deadline: RunDeadlineShape | undefined;
  /** True once its deadline has passed and it was stopped for that. */
  timedOut: boolean;
  /** How its function began this incarnation; undefined when it did not. */
  continued: Continued | undefined;
  /** How often this incarnation went on from an earlier point, plus 1. */
  generation: number;
  /** How its generations began, but for the first; oldest first. */
  rewinds: readonly RewindNote[];
  /** Those of earlier incarnations, as long as their requests are remembered: sent again, they change nothing. They count among no generations. */
  earlierRewinds: readonly RewindNote[];
}

/** How a generation of a run began. */
export interface RewindNote {
  readonly generation: number;
  /** Number of the event. */
  readonly event: number;
  readonly requestId: string;
  /** SHA-256 of the request. */
  readonly digest: Uint8Array;
  /** When it was decided, in ms since the Unix epoch. */
  readonly atMs: number;
}

/** That the function of a run began its present incarnation. */
export interface Continued {
  /** The lease that it held before. */
  readonly leaseVersion: number;
  /** The input of the start, which the fingerprint is of. */
  readonly startInput: Uint8Array | undefined;
}

/** That a run is paused. */
export interface RunPause {
  readonly atMs: number;
  readonly reason: string;
  readonly principal: string;
}

/** How a person changed a task. */
export interface TaskChange {
  /** Version that it had before the last change, and SHA-256 of that request. */
  readonly expectedVersion: number;
  readonly digest: Uint8Array;
  /** Its policy instead of the plan's, as received; undefined: the plan's. */
  readonly retry: RetryPolicyShape | undefined;
  readonly timeouts: TaskTimeoutsShape | undefined;
  /** Derived: its specification with them; undefined: the plan's. */
  readonly spec: TaskSpec | undefined;
}

/** What went wrong with a task. */
export interface TaskTrouble {
  /** Attempts in a row that lost their worker. */
  readonly workerLosses: number;
  /** Used attempts that count no more: a person gave it all its attempts anew. */
  readonly forgivenAttempts: number;
  /** Its last failed attempts, oldest first. */
  readonly failures: readonly TaskFailureNote[];
  /** Why its worker gave it back; empty: it did not, or did not say. */
  readonly note: string;
}

/** An attempt that failed, in few words. */
export interface TaskFailureNote {
  readonly attempt: number;
  readonly worker: string;
  readonly kind: string;
  readonly message: string;
  readonly atMs: number;
}

/** A task that another one called. */
export interface CalledTask {
  /** As it was called; its input is kept. */
  readonly shape: PlanTaskShape;
  /** Derived: its specification. */
  readonly spec: TaskSpec;
}

/** State of a task. */
export interface MutableTask {
  number: number;
  status: TaskStatus;
  /** Changes of it in this incarnation; 0 while it is as its plan made it. Others are shown, and restate, `taskVersion`. */
  version: number;
  /** The attempt that runs or was last, from 1; 0 before the first. */
  attempt: number;
  /** Attempts that count against the retry policy. */
  usedAttempts: number;
  leaseVersion: number;
  /** In a run that follows the current version: the one under which a worker took it last; 0: none. */
  codeVersion: number;
  sessionId: string;
  worker: string;
  firstReadyAtMs: number;
  readyAtMs: number;
  leasedAtMs: number;
  dueAtMs: number;
  closedAtMs: number;
  output: Uint8Array | undefined;
  failure: FailureShape | undefined;
  progress: Uint8Array | undefined;
  unacknowledgedOffers: number;
  leaseEndReason: LeaseEndReason;
  /** Lease version of the report that ended its last attempt; 0: none. */
  reportedLeaseVersion: number;
  /** What went wrong with it; undefined while nothing did. Replaced, never changed. */
  trouble: TaskTrouble | undefined;
  /** True when a person ended it. */
  endedByPerson: boolean;
  /** How a person changed it last; undefined: nobody did. Replaced, never changed. */
  change: TaskChange | undefined;
  /** How often it gave its lease back to wait. */
  suspensions: number;
  /** Derived: numbers of its open waits, in order. */
  openWaits: number[];
  /** Derived: numbers of its waits that have ended, in the order of their ends. */
  endedWaits: number[];
  /** Derived: how many more of the tasks that it needs must count before it is READY: all that have not COMPLETED, unless its join says otherwise. */
  openNeeds: number;
  /** Derived, only in plans with joins: how many of the tasks that it needs may still end without counting. Below 0: it cannot be READY any more. */
  spareNeeds: number;
  /** Number of the event that satisfied its join: the needs that had ended by then are its input. 0: it has none, or that is still to come. */
  inputsEvent: number;
  /** Number of the task that called it; undefined: it is of the plan. */
  caller: number | undefined;
  /** Number of the event that ended it. 0: it has not ended. */
  closedEvent: number;
  /** Generation of the run in which it was opened last. */
  generation: number;
  /** Number of the event that brought it into the run; 0: it is of the plan. */
  calledEvent: number;
  /** Generation since which it is no longer of the run; 0: it is. Its number stays its own. */
  dropped: number;
  /** What it called; undefined while it called nothing. */
  calls: TaskCalls | undefined;
  /** Derived: numbers of the unsettled operations that it called last. */
  unsettled: Set<number>;
  /** Derived: numbers of the steps that its code recorded, in order. */
  steps: number[];
  /** Derived: number of the open review that asks what becomes of it; undefined: there is none. */
  openReview: number | undefined;
  /** When and why its caller asked it to stop; undefined: it did not. */
  stop: { readonly atMs: number; readonly reason: string } | undefined;
  /** True when its caller let it go: it goes on to its end, whatever becomes of its caller. */
  abandoned: boolean;
  /** Number of the task that it rolls back; undefined: it rolls back none. */
  rollsBack: number | undefined;
  /** Derived: number of the task that rolls it back; `declared`: it recorded how to, and that was not needed so far; undefined: it recorded nothing of that. */
  rollback: number | "declared" | undefined;
}

/** Derived: what a task called. */
export interface TaskCalls {
  /** Numbers of those that are open. */
  readonly open: Set<number>;
  /** Numbers of those that have ended, in the order of their ends. */
  readonly ended: number[];
}

type DeepReadonly<T> = T extends Uint8Array | string | number | boolean | undefined
  ? T
  : T extends ReadonlyMap<infer K, infer V>
    ? ReadonlyMap<K, V>
    : T extends readonly (infer U)[]
      ? readonly DeepReadonly<U>[]
      : T extends ReadonlySet<infer U>
        ? ReadonlySet<U>
        : T extends object
          ? { readonly [K in keyof T]: DeepReadonly<T[K]> }
          : T;

/** What deciders see of a run. */
export type Run = {
  readonly [K in keyof MutableRun]: K extends "plan"
    ? CompiledPlan
    : K extends "revisions"
      ? PlanVersions | undefined
      : K extends "called"
        ? readonly CalledTask[]
        : DeepReadonly<MutableRun[K]>;
};
/** What deciders see of a task. */
export type Task = DeepReadonly<MutableTask>;
/** What deciders see of an operation. */
export type Operation = DeepReadonly<MutableOperation>;
/** What deciders see of a step. */
export type Step = DeepReadonly<MutableStep>;
/** What deciders see of a review. */
export type Review = DeepReadonly<MutableReview>;
/** What deciders see of a wait. */
export type Wait = DeepReadonly<MutableWait>;
/** What deciders see of a signal. */
export type Signal = DeepReadonly<MutableSignal>;
/** What deciders see of an input request. */
export type Input = DeepReadonly<MutableInput>;

/** What deciders see of an obligation. */
export type Obligation = DeepReadonly<MutableObligation>;

/** What deciders see of a proposal. */
export type Proposal = DeepReadonly<MutableProposal>;

/**
 * The version of a task that is shown and restated. Tasks begin anew with each incarnation, yet their versions go on: no event changes a task twice, so
 * what an earlier incarnation counted is below the number of the event that began this one. An order decided about a task of then is stale now.
 */
export function taskVersion(
  { begunAtEvent }: Pick<Run, "begunAtEvent">,
  { version }: Pick<Task, "version">,
): number {
  return begunAtEvent - 1 + version;
}

/** Identity of a step in its run: task, name, and whether and which key. Lengths make it injective. */
export function stepIdentity(task: number, name: string, key: string | undefined): string {
  return `${task}:${name.length}:${name}${key === undefined ? "" : `:${key}`}`;
}

/** Identity of a wait in its run: task, name, and whether and which key. Lengths make it injective. */
export function waitIdentity(task: number, name: string, key: string | undefined): string {
  return stepIdentity(task, name, key);
}

/** Identity of an obligation among those of its incarnation: task, kind of order, name, and whether and which key. */
export function obligationIdentity({
  task,
  name,
  key,
  order,
}: Pick<Obligation["declaration"], "task" | "name" | "key"> & {
  readonly order: { readonly case: string | undefined };
}): string {
  return `${order.case} ${stepIdentity(task, name, key)}`;
}

/** True for what the kernel owes by itself, about parents and children: code cannot ask for it, so it has no identity. */
export function isKernels({ name }: Pick<Obligation["declaration"], "name">): boolean {
  return name === "";
}

/** By what a signal is known when it comes again: the id of its request or of the update, or the obligation of the run that sent it. Ids hold no NUL. */
export function signalRequest({
  requestId,
  from,
  update,
}: {
  readonly requestId: string;
  readonly from?: Signal["from"];
  readonly update?: boolean | undefined;
}): string {
  if (from !== undefined) {
    return `\0${from.run}/${from.obligation}`;
  }
  return update === true ? `\0u/${requestId}` : requestId;
}

/** What a wait is found by that takes this signal or update; as `subjectKey`. */
export function keptKey({ name, update }: Pick<Signal, "name" | "update">): string {
  return update ? `update ${name}` : `signal ${name}`;
}

/** What a kept signal takes, in bytes: its name, its content, and a little for itself. */
export function signalBytes({ name, payload }: Pick<Signal, "name" | "payload">): number {
  return 64 + name.length + (payload?.length ?? 0);
}
