import { RewindKind } from "@pawl/proto/log/v1/event_pb.js";
import {
  isKernels,
  type Obligation,
  type Operation,
  type Proposal,
  type Run,
  type Step,
  type Wait,
} from "./state.js";
import { isSettled } from "./transitions.js";

/** Up to which event the records of each task that is open again, or gone, stay, when a run goes on from an earlier point. Of other tasks everything stays. */
export type KeptThrough = ReadonlyMap<number, number>;

/** What of a run's records is not given to code any more when the run goes on from an earlier point. */
export interface Dropping {
  readonly kind: RewindKind;
  readonly keptThrough: KeptThrough;
  /** Reads before the point that are recorded anew. */
  readonly staleSteps: ReadonlySet<number>;
}

/** True for a step that is made anew: one after the point, a read that is too old, and, when what failed is tried again, one that failed. */
export function dropsStep({ kind, keptThrough, staleSteps }: Dropping, step: Step): boolean {
  const through = keptThrough.get(step.task);
  if (through === undefined || step.dropped !== 0) {
    return false;
  }
  const isFailure = step.failure !== undefined && step.answers === undefined;
  const isTriedAgain = kind === RewindKind.RETRY && isFailure;
  return isTriedAgain || step.eventNumber > through || staleSteps.has(step.number);
}

/**
 * True for a wait that began after the point, and for one that its task left when it ended: nothing would ever end that. One that began before the point keeps what ended it: that came from
 * outside, and is given again.
 */
export function dropsWait({ keptThrough }: Dropping, wait: Wait): boolean {
  const through = keptThrough.get(wait.task);
  if (through === undefined || wait.dropped !== 0) {
    return false;
  }
  const wasLeft = wait.closedAtMs !== 0 && wait.endedEvent === 0;
  return wasLeft || wait.openedEvent > through;
}

/** True for an operation that is settled, and of which code is told only when it asks for it again. */
export function carriesOperation({ keptThrough }: Dropping, operation: Operation): boolean {
  const through = keptThrough.get(operation.task);
  return through !== undefined && isSettled(operation.status) && operation.settledEvent > through;
}

/** True for a proposal that is made anew. What was used stays with its operation; those of earlier incarnations are no records of this one. */
export function dropsProposal(
  { keptThrough }: Dropping,
  proposal: Proposal,
  { proposalBase }: Pick<Run, "proposalBase">,
): boolean {
  const through = keptThrough.get(proposal.declaration.task);
  const isPresent = proposal.number >= proposalBase;
  const isAfter = isPresent && through !== undefined && proposal.madeEvent > through;
  return isAfter && proposal.dropped === 0 && proposal.operation === undefined;
}

/** True for what the run owes, or owed, another one since the point: it is not made again, and code finds it when it asks for it. */
export function carriesObligation({ keptThrough }: Dropping, obligation: Obligation): boolean {
  const through = keptThrough.get(obligation.declaration.task);
  const isOfCode = !obligation.earlier && !isKernels(obligation.declaration);
  return through !== undefined && isOfCode && obligation.madeEvent > through;
}
