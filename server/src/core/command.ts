import type { ChangeLegalHold, DeleteRun } from "./command/deletion-commands.js";
import type { EndChild, MakeObligation, SettleObligation } from "./command/obligation-commands.js";
import type {
  IntendOperation,
  ObserveOperation,
  ReconcileOperation,
} from "./command/operation-commands.js";
import type { RevisePlan } from "./command/plan-commands.js";
import type {
  DecideProposal,
  ExpireProposals,
  ProposeAction,
  RevokeApproval,
  WithdrawProposal,
} from "./command/proposal-commands.js";
import type { RetryRun, RewindRun } from "./command/rewind-commands.js";
import type {
  CancelRun,
  ExpireRun,
  PauseRun,
  ResolveReview,
  ResumeRun,
  StartRun,
  TerminateRun,
} from "./command/run-commands.js";
import type {
  CallTasks,
  ChangeTask,
  CompleteTask,
  ConfirmCancel,
  ContinueRun,
  EndLease,
  FailTask,
  FireDeadline,
  LeaseTask,
  RecordStep,
} from "./command/task-commands.js";
import type {
  DeclareWaits,
  ProvideInput,
  SendSignal,
  SuspendTask,
} from "./command/wait-commands.js";

export type { ChangeLegalHold, DeleteRun } from "./command/deletion-commands.js";
export type {
  EndChild,
  MakeObligation,
  ObligationOrder,
  SettleObligation,
} from "./command/obligation-commands.js";
export type {
  Finding,
  GuardNow,
  IntendOperation,
  ObservedOutcome,
  ObserveOperation,
  OperationLease,
  ReconcileOperation,
} from "./command/operation-commands.js";
export type { AlikeInputs, PlanProposer, RevisePlan } from "./command/plan-commands.js";
export type {
  DecideProposal,
  ExpireProposals,
  ProposeAction,
  ProposedGuard,
  RevokeApproval,
  WithdrawProposal,
} from "./command/proposal-commands.js";
export type { RetryRun, RewindPoint, RewindRun } from "./command/rewind-commands.js";
export type {
  CancelRun,
  ExpireRun,
  LeaseName,
  PauseRun,
  ResolveReview,
  ResumeRun,
  StartRun,
  TerminateRun,
} from "./command/run-commands.js";
export type {
  CallTasks,
  ChangeTask,
  CompleteTask,
  ConfirmCancel,
  ContinueRun,
  EndLease,
  FailTask,
  FireDeadline,
  LeaseTask,
  RecordStep,
  TaskChangeOrder,
  TaskRef,
} from "./command/task-commands.js";
export type {
  DeclareWaits,
  ProvideInput,
  SendSignal,
  SuspendTask,
  WaitFor,
  WaitSubject,
} from "./command/wait-commands.js";

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
  | ContinueRun
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
  | RewindRun
  | RetryRun
  | ExpireRun
  | ResolveReview
  | ProposeAction
  | DecideProposal
  | WithdrawProposal
  | RevokeApproval
  | ExpireProposals
  | MakeObligation
  | SettleObligation
  | EndChild
  | RevisePlan
  | DeleteRun
  | ChangeLegalHold;
