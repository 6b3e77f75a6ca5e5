import { InputStatus } from "@pawl/proto/v1/input_pb.js";
import { ObligationStatus } from "@pawl/proto/v1/obligation_pb.js";
import { OperationStatus } from "@pawl/proto/v1/operation_pb.js";
import { ProposalStatus } from "@pawl/proto/v1/proposal_status_pb.js";
import { RunStatus, TaskStatus } from "@pawl/proto/v1/run_pb.js";

/** Which states may follow which. One table per entity; apply asserts them, views serve them, docs print them. */
export type TransitionTable<S extends number> = ReadonlyMap<S, readonly S[]>;

const T = TaskStatus;
/** States of a task. BLOCKED may fail by its join; BACKOFF, SUSPENDED, NEEDS_REVIEW and LEASED may fail by schedule-to-close or by a person. */
export const taskTransitions: TransitionTable<TaskStatus> = new Map<
  TaskStatus,
  readonly TaskStatus[]
>([
  [T.BLOCKED, [T.READY, T.FAILED, T.SKIPPED, T.CANCELLED, T.SUPERSEDED]],
  [T.READY, [T.LEASED, T.COMPLETED, T.FAILED, T.CANCELLED, T.SUPERSEDED]],
  [
    T.LEASED,
    [
      ...[T.READY, T.BACKOFF, T.SUSPENDED, T.NEEDS_REVIEW],
      ...[T.COMPLETED, T.FAILED, T.CANCELLED, T.SUPERSEDED],
    ],
  ],
  [T.BACKOFF, [T.READY, T.COMPLETED, T.FAILED, T.CANCELLED, T.SUPERSEDED]],
  [T.SUSPENDED, [T.READY, T.COMPLETED, T.FAILED, T.CANCELLED, T.SUPERSEDED]],
  [T.NEEDS_REVIEW, [T.READY, T.COMPLETED, T.FAILED, T.CANCELLED, T.SUPERSEDED]],
  [T.COMPLETED, []],
  [T.FAILED, []],
  [T.SKIPPED, []],
  [T.CANCELLED, []],
  [T.SUPERSEDED, []],
]);

const R = RunStatus;
/** States of a run. */
export const runTransitions: TransitionTable<RunStatus> = new Map<RunStatus, readonly RunStatus[]>([
  [R.RUNNING, [R.PAUSED, R.COMPLETED, R.FAILED, R.CANCELLED, R.TERMINATED]],
  [R.PAUSED, [R.RUNNING, R.COMPLETED, R.FAILED, R.CANCELLED, R.TERMINATED]],
  [R.COMPLETED, []],
  [R.FAILED, []],
  [R.CANCELLED, []],
  [R.TERMINATED, []],
]);

const O = OperationStatus;
/** States of an operation. INTENDED follows INTENDED when a call provably never left and another is made. */
export const operationTransitions: TransitionTable<OperationStatus> = new Map<
  OperationStatus,
  readonly OperationStatus[]
>([
  [O.INTENDED, [O.INTENDED, O.OBSERVED, O.REFUSED, O.IN_DOUBT]],
  [O.IN_DOUBT, [O.IN_DOUBT, O.OBSERVED, O.REFUSED, O.INTENDED, O.NEEDS_REVIEW]],
  [O.NEEDS_REVIEW, [O.OBSERVED, O.REFUSED, O.INTENDED, O.ABANDONED]],
  [O.OBSERVED, []],
  [O.REFUSED, []],
  [O.ABANDONED, []],
]);

const P = ProposalStatus;
/** States of a proposal. */
export const proposalTransitions: TransitionTable<ProposalStatus> = new Map<
  ProposalStatus,
  readonly ProposalStatus[]
>([
  [P.PENDING, [P.APPROVED, P.REJECTED, P.EXPIRED, P.WITHDRAWN, P.SUPERSEDED]],
  [P.APPROVED, [P.CONSUMED, P.EXPIRED, P.REVOKED, P.STALE]],
  [P.REJECTED, []],
  [P.EXPIRED, []],
  [P.WITHDRAWN, []],
  [P.SUPERSEDED, []],
  [P.CONSUMED, []],
  [P.REVOKED, []],
  [P.STALE, []],
]);

const I = InputStatus;
/** States of an input request. */
export const inputTransitions: TransitionTable<InputStatus> = new Map<
  InputStatus,
  readonly InputStatus[]
>([
  [I.OPEN, [I.ANSWERED, I.EXPIRED, I.WITHDRAWN]],
  [I.ANSWERED, []],
  [I.EXPIRED, []],
  [I.WITHDRAWN, []],
]);

const B = ObligationStatus;
/** States of an obligation. */
export const obligationTransitions: TransitionTable<ObligationStatus> = new Map<
  ObligationStatus,
  readonly ObligationStatus[]
>([
  [B.OPEN, [B.DELIVERED, B.RUN_OVER, B.NOT_FOUND, B.FULL, B.EXISTS]],
  [B.DELIVERED, []],
  [B.RUN_OVER, []],
  [B.NOT_FOUND, []],
  [B.FULL, []],
  [B.EXISTS, []],
]);

/** True when `to` may follow `from`. */
export function isLegal<S extends number>(table: TransitionTable<S>, from: S, to: S): boolean {
  return table.get(from)?.includes(to) ?? false;
}

/** True when nothing may follow. */
export function isFinal<S extends number>(table: TransitionTable<S>, status: S): boolean {
  return table.get(status)?.length === 0;
}

/** True for a run that has not ended. */
export function isRunOpen(status: RunStatus): boolean {
  return status === R.RUNNING || status === R.PAUSED;
}

/** True for an operation that is OBSERVED, REFUSED or ABANDONED. */
export function isSettled(status: OperationStatus): boolean {
  return status === O.OBSERVED || status === O.REFUSED || status === O.ABANDONED;
}

/** True for a task that has ended. */
export function isTaskClosed(status: TaskStatus): boolean {
  return status >= T.COMPLETED;
}

/** True for a proposal that is PENDING or APPROVED. */
export function isProposalOpen(status: ProposalStatus): boolean {
  return status === P.PENDING || status === P.APPROVED;
}

/** Name of a proposal's state without its prefix, for sentences. */
export function proposalStatusName(status: ProposalStatus): string {
  return nameOf(P, status);
}
/** Name of a task's state without its prefix, for sentences. */
export function taskStatusName(status: TaskStatus): string {
  return nameOf(T, status);
}
/** Name of a run's state without its prefix, for sentences. */
export function runStatusName(status: RunStatus): string {
  return nameOf(R, status);
}
/** Name of an input request's state without its prefix, for sentences. */
export function inputStatusName(status: InputStatus): string {
  return nameOf(I, status);
}
/** Name of an obligation's state without its prefix, for sentences. */
export function obligationStatusName(status: ObligationStatus): string {
  return nameOf(B, status);
}
/** Name of an operation's state without its prefix, for sentences. */
export function operationStatusName(status: OperationStatus): string {
  return nameOf(O, status);
}

function nameOf(names: Readonly<Record<string, number>>, value: number): string {
  return Object.keys(names).find((name) => names[name] === value) ?? `${value}`;
}
