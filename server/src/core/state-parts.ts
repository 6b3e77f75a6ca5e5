import type {
  ChildEndedShape,
  HeldReturnShape,
  ObligationDeclarationShape,
  ObligationSourceShape,
  OperationDeclarationShape,
  ProposalDeclarationShape,
  WaitDeclarationShape,
  WaitEndedShape,
} from "@pawl/proto/log/v1/event_wire.js";
import type {
  ProposalDecisionRowShape,
  UpdateAnswerRowShape,
} from "@pawl/proto/log/v1/row_wire.js";
import type { FailureShape } from "@pawl/proto/v1/failure_wire.js";
import type { InputStatus } from "@pawl/proto/v1/input_pb.js";
import type { ObligationStatus } from "@pawl/proto/v1/obligation_pb.js";
import type { OperationStatus } from "@pawl/proto/v1/operation_pb.js";

import type { ProposalStatus } from "@pawl/proto/v1/proposal_status_pb.js";
import type { ReviewChoice, ReviewSubject } from "@pawl/proto/v1/review_pb.js";
import type { RollbackShape } from "@pawl/proto/v1/rollback_wire.js";

/** State of an operation. */
export interface MutableOperation {
  number: number;
  declaration: OperationDeclarationShape;
  status: OperationStatus;
  version: number;
  /** Latest call. */
  intentId: string;
  /** Task and lease of the latest call. */
  task: number;
  leaseVersion: number;
  callByMs: number;
  firstIntendedAtMs: number;
  intendedAtMs: number;
  /** True while a call may be under way. */
  callOpen: boolean;
  /** True when the latest call was made while an earlier one was in doubt: that the latest never left settles nothing then. */
  earlierDoubt: boolean;
  calls: number;
  result: Uint8Array | undefined;
  failure: FailureShape | undefined;
  settledAtMs: number;
  settledIntentId: string;
  /** Up to which event the code that told of its outcome had been given others; undefined: no code that held the lease told of it, or it is not settled. */
  settledSeenThrough: number | undefined;
  /** Event number of its settlement; 0: it is not settled. */
  settledEvent: number;
  reconciled: boolean;
  lookUps: number;
  lookUpAtMs: number;
  /** Number of its open review; undefined: none. */
  openReview: number | undefined;
  /** Number of the proposal whose approval it consumed; undefined: it needed none. */
  proposal: number | undefined;
  /** True when a person said in a review that it may be called again, whatever became of its approval. */
  retryAllowed: boolean;
  /** Event number of its first intent. */
  intendedEvent: number;
  /** True when an earlier generation settled it, and no code of the present one has asked for it yet. */
  carried: boolean;
  /** Fingerprint of another request for which a person decided that its result stands; empty: none. */
  adoptedFingerprint: Uint8Array;
}

/** A recorded step. */
export interface MutableStep {
  number: number;
  task: number;
  name: string;
  key: string | undefined;
  value: Uint8Array | undefined;
  failure: FailureShape | undefined;
  seenThrough: number;
  observedAtMs: number;
  eventNumber: number;
  /** Set for a rollback: which operation, with the value as its content, undoes something. */
  rollback: RollbackShape | undefined;
  /** Name under which its value is published; undefined: it is not. */
  publishes: string | undefined;
  /** Number of the update that it is the answer to; undefined: of none. */
  answers: number | undefined;
  /** Attempt that published it; 0: it is not published. */
  attempt: number;
  /** How old a read may be when its run goes on from an earlier point, in ms; 0: as old as it is. */
  maxAgeMs: number;
  /** Generation since which it is not given to code any more; 0: it is. */
  dropped: number;
}

/** Derived: what is published under a name. */
export interface MutablePublication {
  /** Number of the step that published it last. */
  readonly step: number;
  /** How often something was published under the name. */
  readonly version: number;
}

/** A review. */
export interface MutableReview {
  number: number;
  subject: ReviewSubject;
  operation: number;
  task: number;
  known: string;
  openedAtMs: number;
  resolvedAtMs: number;
  choice: ReviewChoice;
  reason: string;
  principal: string;
  result: Uint8Array | undefined;
  version: number;
  /** Tasks that wait for it. */
  waitingTasks: number[];
  /** What the task's code returned, kept until it is resolved; undefined: nothing. */
  returned: HeldReturnShape | undefined;
  /** Of a REUSE: fingerprint of what code asks for now; undefined otherwise. */
  askedFingerprint: Uint8Array | undefined;
}

/** Something that a task waits for, or waited for. */
export interface MutableWait {
  number: number;
  task: number;
  declaration: WaitDeclarationShape;
  openedAtMs: number;
  /** How it ended; undefined while it is open, and when its task ended first. */
  ended: WaitEndedShape | undefined;
  /** Event number of its end; 0: it has not ended. */
  endedEvent: number;
  /** When it ended, or when its task did; 0 while it is open. */
  closedAtMs: number;
  /** Event number of its beginning. */
  openedEvent: number;
  /** Generation since which it is not given to code any more; 0: it is. */
  dropped: number;
}

/** A proposal. Its declaration never changes. */
export interface MutableProposal {
  number: number;
  declaration: ProposalDeclarationShape;
  status: ProposalStatus;
  /** 1 while PENDING; rises by 1 with each change of state. */
  version: number;
  decisions: ProposalDecisionRowShape[];
  proposedAtMs: number;
  approvedAtMs: number;
  endedAtMs: number;
  endedBy: string;
  endReason: string;
  /** Number of the proposal that took its place; undefined: none. */
  revisedBy: number | undefined;
  /** Number of the operation that consumed it; undefined: none. */
  operation: number | undefined;
  /** Call that consumed it. */
  intentId: string;
  /** Event number of it. */
  madeEvent: number;
  /** Generation since which it is not given to code any more; 0: it is. */
  dropped: number;
}

/** What the run owes another, or owed it. Its declaration never changes while it may be asked for. */
export interface MutableObligation {
  number: number;
  declaration: ObligationDeclarationShape;
  status: ObligationStatus;
  madeAtMs: number;
  /** Event number of that. */
  madeEvent: number;
  /** When the receiver's answer was recorded; 0 while it is open. */
  settledAtMs: number;
  /** Event number of that; 0 while it is open. */
  settledEvent: number;
  /** True when an earlier incarnation made it: no code of this one asks for it. */
  earlier: boolean;
  /** How the child ended that it started; undefined while it has not. */
  ended: ChildEndedShape | undefined;
  /** Event number of that; 0: it has not. */
  endedEvent: number;
  endedAtMs: number;
  /** True when an earlier generation made it after the point from which the run went on. */
  carried: boolean;
}

/** A signal, or an update: one whose sender waits for an answer. */
export interface MutableSignal {
  number: number;
  name: string;
  payload: Uint8Array | undefined;
  /** Empty when a run sent it. */
  requestId: string;
  /** The obligation of the run that sent it; undefined: no run did. */
  from: ObligationSourceShape | undefined;
  principal: string;
  receivedAtMs: number;
  /** SHA-256 of its content; empty when there was none. */
  contentDigest: Uint8Array;
  /** Number of the wait that took it; `earlier`: one of an earlier incarnation, and its content is in the history alone; undefined: it is kept. */
  takenBy: number | "earlier" | undefined;
  /** True for an update. */
  update: boolean;
  /** The answer to an update; undefined for a signal, and while there is none. */
  answer: UpdateAnswerRowShape | undefined;
}

/** An input request. What it asks stands in the declaration of its wait. */
export interface MutableInput {
  number: number;
  wait: number;
  status: InputStatus;
  version: number;
  answer: Uint8Array | undefined;
  /** Why it was declined; undefined unless it was. */
  declined: string | undefined;
  principal: string;
  closedAtMs: number;
}
