import type { AccessRole } from "./roles.js";

/** Where a method acts, and so in which namespace its roles must be held. */
export type AccessScope =
  /** In the namespace that the request names. */
  | "namespace"
  /** On the whole kernel: the role must be held in every namespace (`*`). */
  | "kernel"
  /** On nothing in particular: whoever has proved to be someone. */
  | "any"
  /** Nothing is asked: for what must be answered before anybody can prove anything. */
  | "open";

/** Who may call a method. */
export interface AccessRow {
  readonly scope: AccessScope;
  /** Any one of them suffices. Empty for the scopes that ask for none. */
  readonly roles: readonly AccessRole[];
}

const within = (...roles: readonly AccessRole[]): AccessRow => ({ scope: "namespace", roles });
const onKernel = (...roles: readonly AccessRole[]): AccessRow => ({ scope: "kernel", roles });
const anybody: AccessRow = { scope: "any", roles: [] };
const open: AccessRow = { scope: "open", roles: [] };

const readers = within("client", "approver", "operator", "admin");
const everyRole = within("worker", "client", "approver", "operator", "admin");
const starters = within("client");
const workers = within("worker");
const performers = within("worker", "client");
const operators = within("operator", "admin");

/**
 * The whole of what may be called, by `service/method`. What has no row is refused to everyone; a test compares this with the
 * services. docs/operate/security.md shows it, and a test compares that.
 */
export const accessTable: Readonly<Record<string, AccessRow>> = {
  "pawl.v1.RunService/Submit": starters,
  "pawl.v1.RunService/StartRuns": starters,
  "pawl.v1.RunService/StartAndAwait": starters,
  "pawl.v1.RunService/GetRun": readers,
  "pawl.v1.RunService/ListRuns": readers,
  "pawl.v1.RunService/GetTask": readers,
  "pawl.v1.RunService/ListTasks": readers,
  "pawl.v1.RunService/GetResult": readers,
  "pawl.v1.RunService/AwaitResults": readers,
  "pawl.v1.RunService/WatchRun": readers,
  "pawl.v1.RunService/WatchRuns": readers,
  "pawl.v1.RunService/ReadOutput": readers,
  "pawl.v1.RunService/CancelRun": within("client", "operator", "admin"),
  "pawl.v1.RunService/TerminateRun": operators,
  "pawl.v1.RunService/DeleteRun": operators,
  "pawl.v1.RunService/PauseRun": operators,
  "pawl.v1.RunService/ResumeRun": operators,
  "pawl.v1.RunService/RewindRun": operators,
  "pawl.v1.RunService/RetryRun": operators,
  "pawl.v1.RunService/ChangeTask": operators,
  "pawl.v1.RunService/RevisePlan": within("client", "operator", "admin"),
  "pawl.v1.RunService/GetPlan": readers,
  "pawl.v1.RunService/ListPlanVersions": readers,
  "pawl.v1.RunService/DiffPlans": readers,
  "pawl.v1.RunService/SendSignal": within("client", "operator", "admin"),
  "pawl.v1.RunService/UpdateRun": within("client", "operator", "admin"),
  "pawl.v1.RunService/GetUpdate": readers,
  "pawl.v1.RunService/QueryRun": readers,
  "pawl.v1.RunService/ListQueries": readers,
  "pawl.v1.RunService/ProvideInput": readers,
  "pawl.v1.RunService/GetInput": readers,
  "pawl.v1.RunService/ListInputs": readers,
  "pawl.v1.RunService/GetHistory": readers,
  "pawl.v1.RunService/ExportRuns": readers,
  "pawl.v1.RunService/GetRecoveryReport": readers,
  "pawl.v1.RunService/ReadBlob": everyRole,

  "pawl.v1.WorkerService/Work": workers,
  "pawl.v1.WorkerService/ClaimTasks": workers,
  "pawl.v1.WorkerService/ReportOutputs": workers,
  "pawl.v1.WorkerService/RenewLeases": workers,
  "pawl.v1.WorkerService/RecordSteps": workers,
  "pawl.v1.WorkerService/RecordObligations": workers,
  "pawl.v1.WorkerService/StartChildren": workers,
  "pawl.v1.WorkerService/GetRecords": workers,
  "pawl.v1.WorkerService/CallTasks": workers,
  "pawl.v1.WorkerService/DeclareWaits": workers,
  "pawl.v1.WorkerService/ProposeRevision": workers,
  "pawl.v1.WorkerService/Suspend": workers,
  "pawl.v1.WorkerService/ReleaseTask": workers,
  "pawl.v1.WorkerService/ReportProgress": workers,
  "pawl.v1.WorkerService/EmitOutput": workers,

  "pawl.v1.OperationService/IntendOperation": performers,
  "pawl.v1.OperationService/ObserveOperation": performers,
  "pawl.v1.OperationService/ReconcileOperation": performers,
  "pawl.v1.OperationService/GetOperation": everyRole,
  "pawl.v1.OperationService/ListOperations": readers,

  "pawl.v1.ApprovalService/ProposeAction": performers,
  "pawl.v1.ApprovalService/DecideProposal": within("approver"),
  "pawl.v1.ApprovalService/WithdrawProposal": within("worker", "client", "operator", "admin"),
  "pawl.v1.ApprovalService/RevokeApproval": everyRole,
  "pawl.v1.ApprovalService/AwaitApproval": everyRole,
  "pawl.v1.ApprovalService/GetProposal": everyRole,
  "pawl.v1.ApprovalService/ListProposals": readers,
  "pawl.v1.ApprovalService/WatchProposals": readers,

  "pawl.v1.ReviewService/ListReviews": readers,
  "pawl.v1.ReviewService/GetReview": readers,
  "pawl.v1.ReviewService/WatchReviews": readers,
  "pawl.v1.ReviewService/ResolveReview": operators,

  "pawl.v1.AdminService/GetServerInfo": anybody,
  "pawl.v1.AdminService/CreateNamespace": onKernel("admin"),
  "pawl.v1.AdminService/ListNamespaces": anybody,
  "pawl.v1.AdminService/SetCurrentVersion": operators,
  "pawl.v1.AdminService/RemoveCurrentVersion": operators,
  "pawl.v1.AdminService/GetCurrentVersion": readers,
  "pawl.v1.AdminService/ListCurrentVersions": readers,
  "pawl.v1.AdminService/SetCredentialPolicy": within("admin"),
  "pawl.v1.AdminService/GetCredentialPolicy": everyRole,
  "pawl.v1.AdminService/GetRetention": readers,
  "pawl.v1.AdminService/SetRetention": within("admin"),
  "pawl.v1.AdminService/SetLegalHold": within("admin"),
  "pawl.v1.AdminService/ListStarts": anybody,
  "pawl.v1.AdminService/GetStartReport": readers,

  "grpc.health.v1.Health/Check": open,
  "grpc.health.v1.Health/List": open,
  "grpc.health.v1.Health/Watch": open,
  "grpc.reflection.v1.ServerReflection/ServerReflectionInfo": anybody,
  "grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo": anybody,
};

/** Who may call a method; undefined: nobody. */
export function accessOf(service: string, method: string): AccessRow | undefined {
  const name = `${service}/${method}`;
  return Object.hasOwn(accessTable, name) ? accessTable[name] : undefined;
}
