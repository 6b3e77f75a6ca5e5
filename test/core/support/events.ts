import { DoubtCause, LeaseEndReason, type TaskTimeoutKind } from "@pawl/proto/log/v1/event_pb.js";
import type {
  ObligationDeclarationShape,
  OperationDeclarationShape,
  WaitDeclarationShape,
} from "@pawl/proto/log/v1/event_wire.js";
import type { FailureShape } from "@pawl/proto/v1/failure_wire.js";
import { ObligationStatus } from "@pawl/proto/v1/obligation_pb.js";
import { OperationStatus, SinkKind } from "@pawl/proto/v1/operation_pb.js";
import type { PlanTaskShape } from "@pawl/proto/v1/plan_wire.js";
import { ReviewChoice, ReviewSubject } from "@pawl/proto/v1/review_pb.js";
import type { RunStatus } from "@pawl/proto/v1/run_pb.js";
import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import type { EventBody, EventValue } from "@pawl/server/core/event.js";
import { planTask } from "./plans.js";
import { failure, fingerprint, mailAction, payload, START_MS, sha256 } from "./values.js";

type Event<C extends EventBody["case"]> = Extract<EventBody, { case: C }>;

/** A worker got a task. */
export function leased(
  task: number,
  leaseVersion: number,
  parts: Partial<EventValue<"taskLeased">> = {},
): Event<"taskLeased"> {
  return {
    case: "taskLeased",
    value: {
      ...{ task, leaseVersion, attempt: leaseVersion, sessionId: "s1", worker: "w1" },
      codeVersion: 0,
      ...parts,
    },
  };
}

/** A task completed. */
export function completed(
  task: number,
  leaseVersion: number,
  output?: Uint8Array,
): Event<"taskCompleted"> {
  return { case: "taskCompleted", value: { task, leaseVersion, output, attempt: leaseVersion } };
}

/** An attempt failed for good; `parts` say otherwise. */
export function attemptFailed(
  task: number,
  leaseVersion: number,
  parts: Partial<EventValue<"attemptFailed">> = {},
): Event<"attemptFailed"> {
  return {
    case: "attemptFailed",
    value: {
      task,
      leaseVersion,
      failure: failure(),
      next: TaskStatus.FAILED,
      readyAtMs: 0,
      progress: undefined,
      attempt: leaseVersion,
      review: 0,
      ...parts,
    },
  };
}

/** A lease ended and its task is READY again, by default because the worker gave it back. */
export function leaseEnded(
  task: number,
  leaseVersion: number,
  parts: Partial<EventValue<"leaseEnded">> = {},
): Event<"leaseEnded"> {
  return {
    case: "leaseEnded",
    value: {
      task,
      leaseVersion,
      reason: LeaseEndReason.RETURNED,
      next: TaskStatus.READY,
      readyAtMs: 0,
      progress: undefined,
      failure: undefined,
      unacknowledgedOffers: 0,
      review: 0,
      usesAttempt: false,
      // An attempt that is not used goes on under the next lease; tests that use more than one say which.
      attempt: parts.usesAttempt === true ? leaseVersion : 1,
      workerLosses: parts.reason === LeaseEndReason.EXPIRED ? 1 : 0,
      note: "",
      ...parts,
    },
  };
}

/** The timer `pause`, due 1 s after the start of the run. */
export function timerDeclared(parts: Partial<WaitDeclarationShape> = {}): WaitDeclarationShape {
  return {
    name: "pause",
    key: undefined,
    dueAtMs: START_MS + 1000,
    subject: { case: "timer", value: {} },
    ...parts,
  };
}

/** A task waits, by default newly for the timer `pause`. */
export function suspended(
  task: number,
  leaseVersion: number,
  parts: Partial<EventValue<"taskSuspended">> = {},
): Event<"taskSuspended"> {
  return {
    case: "taskSuspended",
    value: {
      task,
      leaseVersion,
      opened: [timerDeclared()],
      waits: [0],
      seenThrough: 0,
      next: TaskStatus.SUSPENDED,
      progress: undefined,
      ...parts,
    },
  };
}

/** A wait for the signal `go`, without end. */
export function signalDeclared(parts: Partial<WaitDeclarationShape> = {}): WaitDeclarationShape {
  const subject = { case: "signal", value: { signal: "go" } } as const;
  return { name: "go", key: undefined, dueAtMs: 0, subject, ...parts };
}

/** Asks "How much?" of Ann, without end. */
export function inputDeclared(parts: Partial<WaitDeclarationShape> = {}): WaitDeclarationShape {
  const asked = {
    question: "How much?",
    addressee: "ann",
    schema: "",
    fingerprint: fingerprint(7),
  };
  const subject = { case: "input", value: { input: 0, ...asked } } as const;
  return { name: "ask", key: undefined, dueAtMs: 0, subject, ...parts };
}

/** The signal `go` came with request `q1`. */
export function signalReceived(
  parts: Partial<EventValue<"signalReceived">> = {},
): Event<"signalReceived"> {
  const content = "payload" in parts ? parts.payload : payload(1);
  return {
    case: "signalReceived",
    value: {
      name: "go",
      payload: content,
      requestId: "q1",
      principal: "local",
      contentDigest: content === undefined ? new Uint8Array(0) : sha256(content),
      update: false,
      ...parts,
    },
  };
}

/** Task 0 owes run `r2` the signal `go` from now on. */
export function obligationMade(
  leaseVersion: number,
  parts: Partial<ObligationDeclarationShape> = {},
): Event<"obligationMade"> {
  const value = { signal: "go", payload: payload(1), contentDigest: sha256(payload(1)) };
  const owed: ObligationDeclarationShape = {
    ...{ name: "tell", task: 0, runId: "r2", principal: "local" },
    order: { case: "signal", value },
    ...parts,
  };
  return { case: "obligationMade", value: { declaration: owed, leaseVersion, seenThrough: 0 } };
}

/** The receiver has answered. */
export function obligationSettled(
  status: ObligationStatus = ObligationStatus.DELIVERED,
  obligation = 0,
): Event<"obligationSettled"> {
  return { case: "obligationSettled", value: { obligation, status } };
}

/** A wait took a signal. */
export function signalTaken(task: number, wait: number, signal = 0): Event<"waitEnded"> {
  return waitEnded(task, wait, { case: "signalTaken", value: { signal } });
}

/** Input request 0 was answered with 5. */
export function inputAnswered(
  answer: EventValue<"inputAnswered">["answer"] = { case: "given", value: payload(5) },
): Event<"inputAnswered"> {
  return { case: "inputAnswered", value: { input: 0, answer, principal: "local" } };
}

/** A wait of a task ended, by default because its time has come. */
export function waitEnded(
  task: number,
  wait: number,
  outcome: EventValue<"waitEnded">["outcome"] = { case: "timerFired", value: {} },
): Event<"waitEnded"> {
  return { case: "waitEnded", value: { task, wait, outcome } };
}

/** A task as another one calls it. */
export function calledTask(name: string): PlanTaskShape {
  return planTask(name, { input: payload(name) });
}

/** A task called others, each by its name alone or as it is. */
export function tasksCalled(
  task: number,
  leaseVersion: number,
  called: readonly (string | PlanTaskShape)[],
): Event<"tasksCalled"> {
  const shapes = called.map((each) => (typeof each === "string" ? calledTask(each) : each));
  return { case: "tasksCalled", value: { task, leaseVersion, called: shapes } };
}

/** Called tasks are not wanted any more. */
export function callsCancelled(task: number, called: readonly number[]): Event<"callsCancelled"> {
  return { case: "callsCancelled", value: { task, called: [...called] } };
}

/** Called tasks are asked to stop. */
export function callsStopping(
  task: number,
  called: readonly number[],
  reason = "",
): Event<"callsStopping"> {
  return { case: "callsStopping", value: { task, called: [...called], reason } };
}

/** Called tasks are let go. */
export function callsAbandoned(task: number, called: readonly number[]): Event<"callsAbandoned"> {
  return { case: "callsAbandoned", value: { task, called: [...called] } };
}

/** Waits began while the lease stays. */
export function waitsOpened(
  task: number,
  leaseVersion: number,
  opened: readonly WaitDeclarationShape[],
): Event<"waitsOpened"> {
  return { case: "waitsOpened", value: { task, leaseVersion, opened: [...opened] } };
}

/** A backoff is over. */
export function taskReady(task: number): Event<"taskReady"> {
  return { case: "taskReady", value: { task } };
}

/** A task ran out of time. */
export function timedOut(
  task: number,
  kind: TaskTimeoutKind,
  says: FailureShape = failure(),
): Event<"taskTimedOut"> {
  return { case: "taskTimedOut", value: { task, kind, failure: says } };
}

/** A step was recorded. */
export function stepRecorded(
  task: number,
  leaseVersion: number,
  parts: Partial<EventValue<"stepRecorded">> = {},
): Event<"stepRecorded"> {
  return {
    case: "stepRecorded",
    value: {
      task,
      leaseVersion,
      name: "draw",
      key: undefined,
      value: payload(6),
      failure: undefined,
      seenThrough: 0,
      observedAtMs: 0,
      attempt: 0,
      maxAgeMs: 0,
      ...parts,
    },
  };
}

/** The key of the operation `mail` of task `only` in run `r1`. */
export const MAIL_KEY = "task/default/r1/1/only/mail/1";

/** Declares the operation `mail` of task 0 at an opaque sink: calls take 1 s, and settle 5 s later. */
export function declaration(
  parts: Partial<OperationDeclarationShape> = {},
): OperationDeclarationShape {
  return {
    key: MAIL_KEY,
    uuid: "00000000-0000-8000-8000-000000000000",
    ...mailAction,
    task: 0,
    discriminator: undefined,
    sinkKind: SinkKind.OPAQUE,
    keyWindowEndsMs: 0,
    settleMs: 5000,
    callTimeoutMs: 1000,
    planVersion: 1,
    namespace: "",
    ...parts,
  };
}

/** The first intent of an operation, under lease 1 of task 0, at the start of the run. */
export function declared(
  parts: Partial<OperationDeclarationShape> = {},
  intent: Partial<EventValue<"operationIntended">> = {},
): Event<"operationIntended"> {
  return intended({ declaration: declaration(parts), ...intent });
}

/** Another intent of operation 0. */
export function intended(
  parts: Partial<EventValue<"operationIntended">> = {},
): Event<"operationIntended"> {
  return {
    case: "operationIntended",
    value: {
      operation: 0,
      intentId: "i1",
      leaseVersion: 1,
      callByMs: START_MS + 1000,
      declaration: undefined,
      seenThrough: 0,
      task: 0,
      principal: "",
      ...parts,
    },
  };
}

type Outcome = EventValue<"operationObserved">["outcome"];

/** A call of operation 0 ended. */
export function observed(
  outcome: Outcome,
  next: OperationStatus,
  parts: Partial<EventValue<"operationObserved">> = {},
): Event<"operationObserved"> {
  return {
    case: "operationObserved",
    value: { operation: 0, intentId: "i1", outcome, next, late: false, seenThrough: 0, ...parts },
  };
}

/** A call of operation 0 ended, and nobody knows how. */
export function observedUnknown(intentId = "i1"): Event<"operationObserved"> {
  const outcome = { case: "unknown", value: failure({ kind: "Timeout" }) } as const;
  return observed(outcome, OperationStatus.IN_DOUBT, { intentId });
}

/** A call of operation 0 provably never left. */
export function observedNotSent(intentId = "i1"): Event<"operationObserved"> {
  const outcome = { case: "notSent", value: failure({ kind: "NotSent" }) } as const;
  return observed(outcome, OperationStatus.INTENDED, { intentId });
}

/** A call of operation 0 returned. */
export function observedResult(value: Uint8Array = payload("ok")): Event<"operationObserved"> {
  return observed({ case: "result", value }, OperationStatus.OBSERVED);
}

/** The sink said no to operation 0. */
export function observedRefused(): Event<"operationObserved"> {
  const outcome = { case: "refused", value: failure({ kind: "NoSuchAccount" }) } as const;
  return observed(outcome, OperationStatus.REFUSED);
}

/** The outcome of a call of operation 0 became unknown, by default because its lease ended. */
export function doubted(
  operation = 0,
  cause: DoubtCause = DoubtCause.LEASE_ENDED,
): Event<"operationDoubted"> {
  return { case: "operationDoubted", value: { operation, cause } };
}

/** A look-up of operation 0. */
export function reconciled(
  finding: EventValue<"operationReconciled">["finding"],
  next: OperationStatus,
  lookUpAtMs = 0,
): Event<"operationReconciled"> {
  return { case: "operationReconciled", value: { operation: 0, finding, next, lookUpAtMs } };
}

/** A review of operation 0. */
export function reviewOpened(
  parts: Partial<EventValue<"reviewOpened">> = {},
): Event<"reviewOpened"> {
  return {
    case: "reviewOpened",
    value: {
      review: 0,
      subject: ReviewSubject.OPERATION,
      operation: 0,
      task: 0,
      known: "little",
      ...parts,
    },
  };
}

/** A review was resolved. */
export function reviewResolved(
  choice: ReviewChoice,
  parts: Partial<EventValue<"reviewResolved">> = {},
): Event<"reviewResolved"> {
  const result = choice === ReviewChoice.DONE ? payload("seen") : undefined;
  return {
    case: "reviewResolved",
    value: { review: 0, choice, result, reason: "looked", principal: "local", ...parts },
  };
}

/** Somebody asked the run to stop. */
export function cancelRequested(reason = "enough"): Event<"cancelRequested"> {
  return { case: "cancelRequested", value: { reason, principal: "local" } };
}

/** The run was paused. */
export function runPaused(): Event<"runPaused"> {
  return { case: "runPaused", value: { reason: "look", principal: "local" } };
}

/** The run goes on. */
export function runResumed(): Event<"runResumed"> {
  return { case: "runResumed", value: { reason: "looked", principal: "local" } };
}

/** A leased task stopped. */
export function taskCancelled(task: number, leaseVersion: number): Event<"taskCancelled"> {
  return {
    case: "taskCancelled",
    value: { task, leaseVersion, failure: failure(), attempt: leaseVersion },
  };
}

/** The run ended. */
export function runClosed(
  status: RunStatus,
  parts: Partial<EventValue<"runClosed">> = {},
): Event<"runClosed"> {
  return { case: "runClosed", value: { status, principal: "", ...parts } };
}

/** The kernel's own code failed for the run. */
export function runFaulted(): Event<"runFaulted"> {
  return { case: "runFaulted", value: { command: "CompleteTask", error: "boom" } };
}

/** The function in task 0 continued the run as new, with input 2. */
export function runContinued(
  incarnation: number,
  leaseVersion: number,
  parts: Partial<EventValue<"runContinued">> = {},
): Event<"runContinued"> {
  const value = { incarnation, task: 0, leaseVersion, attempt: 1, input: payload(2), ...parts };
  return { case: "runContinued", value };
}

/** The run took longer than its timeout of 1 s. */
export function runTimedOut(): Event<"runTimedOut"> {
  const reason = "It took longer than its run timeout of 1 s.";
  return { case: "runTimedOut", value: { reason } };
}
