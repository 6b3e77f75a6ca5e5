export {
  AttemptEnded,
  AwaitingReview,
  Cancelled,
  Draining,
  LeaseLost,
  RunPaused,
  TimedOut,
} from "./abort-reasons.js";
export type {
  ApprovalDisplay,
  ApprovalGuard,
  Approved,
  ApproveOptions,
  Denied,
  Said,
} from "./approval.js";
export {
  ApprovalError,
  type ApprovalErrorParts,
  ApprovalExpired,
  ApprovalPending,
  ApprovalRevoked,
  ApprovalStale,
  NotApproved,
} from "./approval-errors.js";
export type {
  Approvals,
  ListApprovalsOptions,
  ProposalChangeInfo,
  ProposalDecisionInfo,
  ProposalInfo,
  ProposalStatusName,
  ShownProposal,
  WatchApprovalsOptions,
} from "./approvals.js";
export {
  NeedsReview,
  NotSent,
  OperationAbandoned,
  OperationInDoubt,
  OutcomeUnknown,
  Refused,
  type RefusedOptions,
  type RetryableCallOptions,
} from "./call-errors.js";
export type { Call, CancelCallOptions, CancelMode } from "./cancel-mode.js";
export type { ChildOptions, ChildRun } from "./children.js";
export { createPawlClient, type PawlClient, type PawlClientOptions } from "./client.js";
export {
  type Client,
  type ConnectOptions,
  connect,
  type StartArguments,
  type Startable,
} from "./connect.js";
export type { ConnectionStatus } from "./connection.js";
export { Content } from "./content.js";
export type {
  PerformOptions,
  Recorded,
  SleepOptions,
  StepOptions,
  StepRetry,
  StepScope,
  TaskContext,
} from "./context.js";
export type { Duration } from "./duration.js";
export {
  AccessDenied,
  Closed,
  Conflict,
  DefinitionInvalid,
  NotAKernel,
  NotFound,
  PawlError,
  RecordedFailure,
  Rejected,
  RunCancelled,
  RunEnded,
  RunFailed,
  RunTerminated,
  SchemaRefused,
  StepFailed,
  TooLarge,
  Unavailable,
  ValueRefused,
  WaitTimedOut,
} from "./errors.js";
export type { InputFilter, InputRequest, Inputs } from "./inputs.js";
export type {
  Answer,
  AskOptions,
  SignalAnswer,
  SignalOptions,
  SignalReceived,
  SignalWaitOptions,
  StartSignalOptions,
} from "./messages.js";
export type { NeededTask, OnNeedFailure } from "./needed-task.js";
export { type EmbeddedKernel, type OpenKernelOptions, openKernel } from "./open-kernel.js";
export {
  type ErasedCall,
  type Lookup,
  type Operation,
  type OperationCall,
  type OperationSpec,
  operation,
  type SinkSettings,
} from "./operation.js";
export type { RunAskedToStop, RunSignalled, TellRunOptions } from "./other-runs.js";
export {
  fetchOutcome,
  type HttpOutcomeOptions,
  type HttpResponseLike,
  httpOutcome,
} from "./outcome.js";
export type {
  EmitOptions,
  Emitted,
  OutputChunk,
  OutputDropped,
  OutputEnd,
  OutputEndStatus,
  OutputEvent,
  OutputOptions,
  OutputPlace,
  OutputReset,
} from "./output.js";
export {
  type CheckedTasks,
  type Need,
  type OutputOf,
  type PlanRef,
  type PlanSpec,
  type PlanTask,
  type PlanTasks,
  plan,
  type SentTo,
} from "./plan.js";
export type {
  NewPlan,
  PlanVersionInfo,
  ProposeRevisionOptions,
  RecordedRevision,
  RevisedTask,
  RevisePlanOptions,
  RevisionAnswer,
  RunPlan,
} from "./plan-versions.js";
export { type Published, type PublishedInfo, type Query, query } from "./queries.js";
export type { JsonOnly, JsonOrNothing, MustBeJson, NotJson, Rec } from "./rec.js";
export { Fatal, Later, later, RetryAfter } from "./retry-errors.js";
export type {
  FailedAttemptInfo,
  ListReviewsOptions,
  ReviewAnswer,
  ReviewChangeInfo,
  ReviewChoiceName,
  ReviewDecision,
  ReviewInfo,
  ReviewResolution,
  ReviewSubjectName,
  Reviews,
  ReviewWatchOptions,
} from "./reviews.js";
export type {
  GoBackOptions,
  RetryRunOptions,
  RewindAnswer,
  RewindOptions,
  RewindTo,
} from "./rewind.js";
export type {
  DeleteAnswer,
  DeleteOptions,
  EndAnswer,
  EndOptions,
  Run,
  RunEvent,
  RunTaskStatus,
  WaitOptions,
  WatchOptions,
} from "./run.js";
export {
  json,
  type Schema,
  type SchemaInput,
  type SchemaIssue,
  type SchemaOutput,
  type SchemaResult,
} from "./schema.js";
export {
  isSecretRef,
  Secret,
  type SecretRef,
  type SecretResolver,
  type SecretResolverOptions,
  type SecretResolvers,
  SecretUnresolved,
  type SecretUnresolvedOptions,
  secretRef,
} from "./secret.js";
export type { ClientPerformOptions, OnExistingRun, StartOptions } from "./start-options.js";
export {
  fromQueue,
  type OpenTask,
  type ServedTask,
  type Task,
  type TaskHandler,
  type TaskRef,
  type TaskSpec,
  task,
} from "./task.js";
export type { ShownTask, TaskChange, TaskChangeAnswer, TaskPolicyChange } from "./task-change.js";
export type { RetryOptions, ScheduleOptions, TimeoutOptions } from "./task-options.js";
export { UpdateRefused } from "./update-errors.js";
export {
  type Update,
  type UpdateArguments,
  type UpdateOptions,
  type UpdateReceived,
  type UpdateSpec,
  type UpdateTimedOut,
  type UpdateTimeoutOptions,
  type UpdateWaitOptions,
  update,
} from "./updates.js";
export type {
  CurrentVersionInfo,
  NamedWorkflow,
  RunVersion,
  VersionChangeOptions,
  Versions,
} from "./versions.js";
export { worker } from "./worker.js";
export type { CloseOptions, Worker, WorkerOptions } from "./worker-options.js";
export { type OpenWorkflow, type Workflow, type WorkflowSpec, workflow } from "./workflow.js";
export {
  type CallArguments,
  type CallOptions,
  type ContinueArguments,
  isOk,
  type MapItem,
  type MapOptions,
  type RollbackOptions,
  type VersionOptions,
  type Winner,
  type WorkflowContext,
} from "./workflow-context.js";
export { CallCancelled, CallFailed, JoinFailed, RecordMismatch } from "./workflow-errors.js";
