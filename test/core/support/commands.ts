import { LeaseEndReason } from "@pawl/proto/log/v1/event_pb.js";
import { ObligationStatus, ParentClose } from "@pawl/proto/v1/obligation_pb.js";
import { SinkKind } from "@pawl/proto/v1/operation_pb.js";
import type { PlanTaskShape } from "@pawl/proto/v1/plan_wire.js";
import type { ReviewChoice } from "@pawl/proto/v1/review_pb.js";
import { RunStatus } from "@pawl/proto/v1/run_pb.js";
import { OnExisting } from "@pawl/proto/v1/run_service_pb.js";
import type {
  CallTasks,
  CancelRun,
  ChangeTask,
  CompleteTask,
  ConfirmCancel,
  ContinueRun,
  DeclareWaits,
  DeleteRun,
  EndChild,
  EndLease,
  FailTask,
  Finding,
  FireDeadline,
  IntendOperation,
  LeaseTask,
  MakeObligation,
  ObservedOutcome,
  ObserveOperation,
  PauseRun,
  ProvideInput,
  ReconcileOperation,
  RecordStep,
  ResolveReview,
  ResumeRun,
  RetryRun,
  RewindRun,
  SendSignal,
  SettleObligation,
  StartRun,
  SuspendTask,
  TerminateRun,
  WaitFor,
} from "@pawl/server/core/command.js";
import type { CompiledPlan } from "@pawl/server/core/plan/task-spec.js";
import { calledTask, MAIL_KEY } from "./events.js";
import { planOf } from "./plans.js";
import { failure, fingerprint, mailAction, payload, sha256 } from "./values.js";

/** Starts run `r1`. */
export function startRun(plan: CompiledPlan, parts: Partial<StartRun> = {}): StartRun {
  return {
    kind: "StartRun",
    namespace: "default",
    runId: "r1",
    workflow: "w",
    plan,
    input: undefined,
    fingerprint: fingerprint(1),
    labels: [],
    traceparent: "",
    onExisting: OnExisting.UNSPECIFIED,
    requestId: "",
    ...parts,
  };
}

/** Gives a task to worker `w1`. */
export function leaseTask(task: number, parts: Partial<LeaseTask> = {}): LeaseTask {
  return { kind: "LeaseTask", task, sessionId: "s1", worker: "w1", ...parts };
}

/** Ends a lease. */
export function endLease(
  leaseVersion: number,
  reason: LeaseEndReason = LeaseEndReason.RETURNED,
  parts: Partial<EndLease> = {},
): EndLease {
  return {
    kind: "EndLease",
    task: 0,
    leaseVersion,
    reason,
    delayMs: 0,
    progress: undefined,
    ...parts,
  };
}

/** Reports a completion of task 0. */
export function completeTask(
  leaseVersion: number,
  parts: Partial<CompleteTask> = {},
): CompleteTask {
  return { kind: "CompleteTask", task: 0, leaseVersion, output: undefined, ...parts };
}

/** Reports a failed attempt of task 0. */
export function failTask(leaseVersion: number, parts: Partial<FailTask> = {}): FailTask {
  return {
    kind: "FailTask",
    task: 0,
    leaseVersion,
    failure: failure(),
    retryAfterMs: undefined,
    progress: undefined,
    ...parts,
  };
}

/** Reports that task 0 stopped. */
export function confirmCancel(
  leaseVersion: number,
  parts: Partial<ConfirmCancel> = {},
): ConfirmCancel {
  return { kind: "ConfirmCancel", task: 0, leaseVersion, failure: failure(), ...parts };
}

/** Suspends task 0 on the timer `pause`, due 1 s later. */
export function suspend(leaseVersion: number, parts: Partial<SuspendTask> = {}): SuspendTask {
  return {
    kind: "SuspendTask",
    task: 0,
    leaseVersion,
    seenThrough: 0,
    waits: [timer()],
    progress: undefined,
    ...parts,
  };
}

/** Calls tasks, each by its name alone or as it is, and gives up others. */
export function callTasks(
  leaseVersion: number,
  called: readonly (string | PlanTaskShape)[],
  cancels: readonly string[] = [],
  left: Partial<Pick<CallTasks, "task" | "stops" | "abandons">> = {},
): CallTasks {
  return {
    kind: "CallTasks",
    task: 0,
    leaseVersion,
    called: called.map((each) => (typeof each === "string" ? calledTask(each) : each)),
    cancels,
    stops: [],
    abandons: [],
    ...left,
  };
}

/** Begins waits while the lease stays. */
export function declareWaits(leaseVersion: number, waits: readonly WaitFor[]): DeclareWaits {
  return { kind: "DeclareWaits", task: 0, leaseVersion, waits };
}

/** A timer, by default `pause`, due 1 s later. */
export function timer(afterMs = 1000, parts: Partial<WaitFor> = {}): WaitFor {
  return { name: "pause", key: undefined, subject: { case: "timer", due: { afterMs } }, ...parts };
}

/** A wait for the signal `go`. */
export function signalWait(timeoutMs?: number, parts: Partial<WaitFor> = {}): WaitFor {
  const subject = { case: "signal", signal: "go", timeoutMs } as const;
  return { name: "go", key: undefined, subject, ...parts };
}

/** Asks "How much?" of Ann. */
export function inputWait(expiresInMs?: number, parts: Partial<WaitFor> = {}): WaitFor {
  const asked = {
    question: "How much?",
    addressee: "ann",
    schema: "",
    fingerprint: fingerprint(7),
  };
  return {
    name: "ask",
    key: undefined,
    subject: { case: "input", ...asked, expiresInMs },
    ...parts,
  };
}

/** Sends the signal `go` in request `q1`. */
export function sendSignal(parts: Partial<SendSignal> = {}): SendSignal {
  return {
    kind: "SendSignal",
    name: "go",
    payload: payload(1),
    requestId: "q1",
    expectedVersion: undefined,
    ...parts,
  };
}

/** Task 0 sends the signal `go` to run `r2`, under the name `tell`. */
export function makeObligation(
  leaseVersion: number,
  parts: Partial<MakeObligation> = {},
): MakeObligation {
  return {
    kind: "MakeObligation",
    task: 0,
    leaseVersion,
    name: "tell",
    key: undefined,
    runId: "r2",
    order: { case: "signal", signal: "go", payload: payload(1) },
    seenThrough: 0,
    ...parts,
  };
}

/** The receiver of obligation 0 has recorded it. */
export function settleObligation(parts: Partial<SettleObligation> = {}): SettleObligation {
  return {
    kind: "SettleObligation",
    obligation: 0,
    status: ObligationStatus.DELIVERED,
    ...parts,
  };
}

/** Task 0 starts a child `part` of workflow `w`. */
export function startChild(
  leaseVersion: number,
  parentClose: ParentClose = ParentClose.CANCEL,
  parts: Partial<MakeObligation> = {},
): MakeObligation {
  const order = {
    case: "child",
    ...{ workflow: "w", plan: planOf({ only: {} }, "only").bytes },
    ...{ input: payload(1), fingerprint: fingerprint(4), parentClose, runTimeoutMs: 0 },
  } as const;
  return makeObligation(leaseVersion, { name: "part", runId: "", order, ...parts });
}

/** The child that obligation 0 started has completed with 9. */
export function endChild(parts: Partial<EndChild> = {}): EndChild {
  return {
    kind: "EndChild",
    obligation: 0,
    childRunId: "r1/1/only/part",
    status: RunStatus.COMPLETED,
    output: payload(9),
    failure: undefined,
    ...parts,
  };
}

/** A wait for the end of the child that obligation 0 started. */
export function childWait(obligation = 0): WaitFor {
  return { name: "child", key: undefined, subject: { case: "child", obligation } };
}

/** A wait for the answer to obligation 0. */
export function answerWait(obligation = 0): WaitFor {
  return { name: "answer", key: undefined, subject: { case: "obligation", obligation } };
}

/** Answers input request 0 with 5. */
export function provideInput(parts: Partial<ProvideInput> = {}): ProvideInput {
  const answer = { case: "given", value: payload(5) } as const;
  return { kind: "ProvideInput", incarnation: 1, input: 0, expectedVersion: 1, answer, ...parts };
}

/** Records the step `draw` of task 0. */
export function recordStep(leaseVersion: number, parts: Partial<RecordStep> = {}): RecordStep {
  return {
    kind: "RecordStep",
    task: 0,
    leaseVersion,
    name: "draw",
    key: undefined,
    value: payload(6),
    failure: undefined,
    seenThrough: 0,
    read: false,
    ...parts,
  };
}

/** Intends the operation `mail` of task 0 at an opaque sink: calls take 1 s, and settle 5 s later. */
export function intend(
  leaseVersion: number,
  intentId: string,
  parts: Partial<IntendOperation> = {},
): IntendOperation {
  return {
    kind: "IntendOperation",
    namespace: "default",
    lease: { task: 0, leaseVersion },
    intentId,
    ...mailAction,
    key: undefined,
    sinkKind: SinkKind.OPAQUE,
    keyWindowMs: 0,
    settleMs: 5000,
    callTimeoutMs: 1000,
    seenThrough: 0,
    ...parts,
  };
}

/** Says how a call of `mail` ended. */
export function observe(
  intentId: string,
  outcome: ObservedOutcome,
  operationKey: string = MAIL_KEY,
): ObserveOperation {
  return { kind: "ObserveOperation", operationKey, intentId, outcome, seenThrough: 0 };
}

/** Says that a call of `mail` returned. */
export function observeResult(
  intentId: string,
  value: Uint8Array = payload("ok"),
): ObserveOperation {
  return observe(intentId, { case: "result", value });
}

/** Says what a look-up of `mail` found. */
export function reconcile(
  leaseVersion: number,
  intentId: string,
  finding: Finding,
  parts: Partial<ReconcileOperation> = {},
): ReconcileOperation {
  return {
    kind: "ReconcileOperation",
    lease: { task: 0, leaseVersion },
    operationKey: MAIL_KEY,
    intentId,
    lookedUpIntentId: "i1",
    finding,
    ...parts,
  };
}

/** Says that a deadline of a task may be due. */
export function fireDeadline(task = 0): FireDeadline {
  return { kind: "FireDeadline", task };
}

/** Asks the run to stop. */
export function cancelRun(expectedVersion?: number): CancelRun {
  return { kind: "CancelRun", expectedVersion, reason: "enough" };
}

/** Changes task 0 as an operator says; the digest tells one request from another. */
export function changeTask(
  change: ChangeTask["change"],
  expectedVersion: number,
  parts: Partial<ChangeTask> = {},
): ChangeTask {
  const digest = sha256(new TextEncoder().encode(`${change.case} ${expectedVersion}`));
  return {
    kind: "ChangeTask",
    task: 0,
    expectedVersion,
    reason: "by hand",
    change,
    digest,
    ...parts,
  };
}

/** Pauses the run. */
export function pauseRun(parts: Partial<PauseRun> = {}): PauseRun {
  return { kind: "PauseRun", expectedVersion: undefined, reason: "look", untaken: [], ...parts };
}

/** Lets the run go on. */
export function resumeRun(expectedVersion?: number): ResumeRun {
  return { kind: "ResumeRun", expectedVersion, reason: "looked" };
}

/** Ends the run at once. */
export function terminateRun(expectedVersion?: number): TerminateRun {
  return { kind: "TerminateRun", expectedVersion, reason: "now" };
}

/** Deletes the run, or says whether that may be. */
export function deleteRun(parts: Partial<DeleteRun> = {}): DeleteRun {
  return {
    kind: "DeleteRun",
    expectedVersion: undefined,
    reason: "asked for",
    dryRun: false,
    whenDue: false,
    ...parts,
  };
}

/** Lets the run go on from an event, or from what a task recorded. */
export function rewindRun(to: RewindRun["to"] | number, parts: Partial<RewindRun> = {}): RewindRun {
  return {
    kind: "RewindRun",
    expectedVersion: undefined,
    requestId: "w1",
    digest: fingerprint(1),
    reason: "wrong",
    dryRun: false,
    to: typeof to === "number" ? { case: "event", event: to } : to,
    dropsMessages: false,
    ...parts,
  };
}

/** A task, or one of its records, as the point of a rewind. */
export function beforeTask(task: string, name?: string, key?: string): RewindRun["to"] {
  return { case: "task", task, record: name === undefined ? undefined : { name, key } };
}

/** Tries again what failed. */
export function retryRun(parts: Partial<RetryRun> = {}): RetryRun {
  return {
    kind: "RetryRun",
    expectedVersion: undefined,
    requestId: "y1",
    digest: fingerprint(1),
    reason: "mended",
    dryRun: false,
    tasks: [],
    cancelled: false,
    ...parts,
  };
}

/** Resolves review 0. */
export function resolveReview(
  choice: ReviewChoice,
  parts: Partial<ResolveReview> = {},
): ResolveReview {
  return {
    kind: "ResolveReview",
    incarnation: 1,
    review: 0,
    expectedVersion: 1,
    choice,
    result: undefined,
    reason: "looked",
    ...parts,
  };
}

/** Continues the run as new, with input 2, from its only task. */
export function continueRun(leaseVersion: number, parts: Partial<ContinueRun> = {}): ContinueRun {
  return { kind: "ContinueRun", task: 0, leaseVersion, input: payload(2), ...parts };
}
