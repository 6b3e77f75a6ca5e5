import { OperationStatus } from "@pawl/proto/v1/operation_pb.js";
import type { Command, StartRun } from "@pawl/server/core/command.js";
import type { EventBody } from "@pawl/server/core/event.js";
import { textOf } from "./contents.js";
import { statesOf } from "./incarnations.js";
import type { ShadowLog, ShadowRun } from "./shadow-log.js";
import type { Told } from "./witness.js";

/** Everything that anybody was told must stand in the log, up to the event that the answer was computed from. */
export function checkTold(
  told: readonly Told[],
  shadow: ShadowLog,
  complain: (text: string) => void,
): void {
  for (const { order, answer, atMs } of told) {
    const run = shadow.runs.get(answer.runNumber);
    const events = run?.events.slice(0, answer.eventCount).map(({ body }) => body) ?? [];
    if (run === undefined || !isRecorded(order.command, { run, events, answer })) {
      complain(
        `at ${atMs} ${order.command.kind} was answered as accepted, but the log does not have it: ${describe(order.command)}`,
      );
    }
  }
}

interface Recorded {
  readonly run: ShadowRun;
  readonly events: readonly EventBody[];
  readonly answer: Told["answer"];
}

function isOwed(
  { name, runId }: Extract<Command, { kind: "MakeObligation" }>,
  events: readonly EventBody[],
): boolean {
  return events.some(
    (body) =>
      body.case === "obligationMade" &&
      body.value.declaration?.name === name &&
      (runId === "" || body.value.declaration.runId === runId),
  );
}

function isRecorded(command: Command, recorded: Recorded): boolean {
  const { events } = recorded;
  switch (command.kind) {
    case "StartRun":
      return isStartRecorded(command, recorded);
    case "RecordStep":
      return events.some(
        (body) =>
          body.case === "stepRecorded" &&
          body.value.task === command.task &&
          body.value.name === command.name &&
          textOf(body.value.value) === textOf(command.value),
      );
    case "SendSignal":
      return events.some(
        (body) =>
          body.case === "signalReceived" &&
          body.value.requestId === command.requestId &&
          textOf(body.value.payload) === textOf(command.payload),
      );
    case "MakeObligation":
      return isOwed(command, events);
    case "CallTasks":
    case "DeclareWaits":
      return isAskedFor(command, events);
    case "ProvideInput":
      return events.some(
        (body) =>
          body.case === "inputAnswered" &&
          body.value.input === command.input &&
          body.value.answer.case === command.answer.case,
      );
    case "ChangeTask":
      return events.some(
        (body) => body.case === "taskChanged" && body.value.change.case === command.change.case,
      );
    case "PauseRun":
      return events.some((body) => body.case === "runPaused");
    case "ResumeRun":
      return recorded.answer.existing || events.some((body) => body.case === "runResumed");
    case "CancelRun":
      return events.some((body) => body.case === "cancelRequested");
    case "TerminateRun":
      return events.some((body) => body.case === "runClosed");
    case "ResolveReview":
      return events.some(
        (body) =>
          body.case === "reviewResolved" &&
          body.value.review === command.review &&
          body.value.choice === command.choice,
      );
    case "ProposeAction":
      return events.some(
        (body) =>
          body.case === "proposalMade" &&
          body.value.declaration?.name === command.name &&
          Buffer.from(body.value.declaration.fingerprint).equals(command.fingerprint),
      );
    case "DecideProposal":
      return events.some(
        (body) =>
          body.case === "proposalDecided" &&
          body.value.proposal === command.proposal &&
          body.value.verdict === command.verdict,
      );
    case "IntendOperation":
    case "ObserveOperation":
    case "ReconcileOperation":
      return isOutcomeRecorded(command, recorded);
    default:
      return isReportRecorded(command, events);
  }
}

/** What the code of a task called, or waits for. */
function isAskedFor(
  command: Extract<Command, { kind: "CallTasks" | "DeclareWaits" }>,
  events: readonly EventBody[],
): boolean {
  const asked = command.kind === "CallTasks" ? command.called : command.waits;
  const names = new Set(events.flatMap((body) => namesIn(body, command.kind)));
  return asked.every(({ name }) => names.has(name));
}

function namesIn(body: EventBody, kind: "CallTasks" | "DeclareWaits"): readonly string[] {
  if (body.case === "tasksCalled") {
    return kind === "CallTasks" ? body.value.called.map(({ name }) => name) : [];
  }
  const isOpening = body.case === "waitsOpened" || body.case === "taskSuspended";
  return isOpening && kind === "DeclareWaits" ? body.value.opened.map(({ name }) => name) : [];
}

/** A start that was said to begin something did, by its request; and a signal beside any that was accepted is there. */
function isStartRecorded(
  { runId, fingerprint, requestId, signal }: StartRun,
  { events, answer }: Recorded,
): boolean {
  const isThere = events.some(
    (body) =>
      body.case === "runStarted" &&
      body.value.runId === runId &&
      Buffer.from(body.value.fingerprint).equals(fingerprint),
  );
  const begun = events.filter(
    (body) =>
      (body.case === "runStarted" || body.case === "runRestarted") &&
      body.value.requestId === requestId,
  ).length;
  const isSignalled =
    signal === undefined ||
    events.some(
      (body) => body.case === "signalReceived" && body.value.requestId === signal.requestId,
    );
  const isBegunOnce = requestId === "" || (answer.existing ? begun <= 1 : begun === 1);
  return isThere && isSignalled && isBegunOnce;
}

/** A report by which an attempt ends without success; in a run that was asked to stop also one that would go on as new. */
function isStop(
  command: Command,
): command is Extract<Command, { kind: "FailTask" | "ConfirmCancel" | "ContinueRun" }> {
  const { kind } = command;
  return kind === "FailTask" || kind === "ConfirmCancel" || kind === "ContinueRun";
}

function isReportRecorded(command: Command, events: readonly EventBody[]): boolean {
  return events.some((body) => {
    switch (body.case) {
      case "taskCompleted":
        return (
          command.kind === "CompleteTask" &&
          isOfLease(command, body.value) &&
          textOf(body.value.output) === textOf(command.output)
        );
      case "runContinued":
        return (
          command.kind === "ContinueRun" &&
          isOfLease(command, body.value) &&
          textOf(body.value.input) === textOf(command.input)
        );
      case "attemptFailed":
        return (isStop(command) || isHeld(command)) && isOfLease(command, body.value);
      case "taskCancelled":
        // What a function returned whose run was asked to stop counts for nothing, if it said how to undo it.
        return (isStop(command) || hasUndoing(command, events)) && isOfLease(command, body.value);
      case "taskSuspended":
        return command.kind === "SuspendTask" && isOfLease(command, body.value);
      case "leaseEnded":
        return command.kind === "EndLease" && isOfLease(command, body.value);
      default:
        return false;
    }
  });
}

/** A return that a person must accept first. */
function isHeld(command: Command): command is Extract<Command, { kind: "CompleteTask" }> {
  return command.kind === "CompleteTask" && (command.unvisited ?? []).length > 0;
}

function hasUndoing(
  command: Command,
  events: readonly EventBody[],
): command is Extract<Command, { kind: "CompleteTask" }> {
  return (
    command.kind === "CompleteTask" &&
    events.some(
      (body) =>
        body.case === "stepRecorded" &&
        body.value.task === command.task &&
        body.value.rollback !== undefined,
    )
  );
}

function isOfLease(
  command: { readonly task: number | string; readonly leaseVersion: number },
  value: { readonly task: number; readonly leaseVersion: number },
): boolean {
  return command.task === value.task && command.leaseVersion === value.leaseVersion;
}

function isOutcomeRecorded(
  command: Extract<
    Command,
    { kind: "IntendOperation" | "ObserveOperation" | "ReconcileOperation" }
  >,
  { run, events, answer }: Recorded,
): boolean {
  if (answer.intent?.case === "paused") {
    return events.some((body) => body.case === "runPaused");
  }
  if (answer.intent?.case === "awaiting") {
    return events.some((body) => body.case === "proposalMade");
  }
  if (answer.intent?.case === "proceed") {
    return events.some(
      (body) => body.case === "operationIntended" && body.value.intentId === command.intentId,
    );
  }
  const key =
    answer.intent?.key ?? (command.kind === "ObserveOperation" ? command.operationKey : "");
  const operation = statesOf(run)
    .flatMap(({ operations }) => operations)
    .find(({ declaration }) => declaration.key === key);
  if (operation === undefined) {
    return false;
  }
  if (answer.intent?.case === "reuse" && !answer.intent.isNo) {
    return (
      operation.status === OperationStatus.OBSERVED &&
      textOf(operation.result) === textOf(answer.intent.result)
    );
  }
  if (command.kind === "ObserveOperation" && command.outcome.case === "result") {
    return (
      operation.status === OperationStatus.OBSERVED &&
      textOf(operation.result) === textOf(command.outcome.value)
    );
  }
  return true;
}

function describe(command: Command): string {
  return JSON.stringify(command, (key, value: unknown) =>
    value instanceof Uint8Array || key === "plan" ? "…" : value,
  );
}
