import { LeaseEndReason } from "@pawl/proto/log/v1/event_pb.js";
import type { WaitDeclarationShape } from "@pawl/proto/log/v1/event_wire.js";
import { InputStatus } from "@pawl/proto/v1/input_pb.js";
import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import type { EventMeta, EventValue } from "../event.js";
import { type MutableRun, type MutableTask, type MutableWait, waitIdentity } from "../state.js";
import { CorruptHistory } from "./corrupt.js";
import { settleTask } from "./dependents.js";
import type { ApplyHooks } from "./hooks.js";
import { addEndedWait, forgetKeptSignal, forgetOpenWait, indexWait } from "./indices.js";
import { endInput, openInput } from "./inputs.js";
import { keepBytes } from "./keep.js";
import { leasedTaskOf, makeReady, taskOf } from "./move-task.js";
import { noteTrouble } from "./trouble.js";

/** A task gave its lease back and waits. */
export function applyTaskSuspended(
  run: MutableRun,
  event: EventValue<"taskSuspended">,
  meta: EventMeta,
  hooks: ApplyHooks,
): void {
  const task = leasedTaskOf(run, event.task, event.leaseVersion);
  for (const declaration of event.opened) {
    openWait(run, task, declaration, meta);
  }
  task.leaseEndReason = LeaseEndReason.SUSPENDED;
  task.progress = keepBytes(event.progress) ?? task.progress;
  task.unacknowledgedOffers = 0;
  if (task.trouble !== undefined) {
    noteTrouble(task, { workerLosses: 0, note: "" });
  }
  task.suspensions++;
  task.sessionId = "";
  hooks.leaseOver(run, task.number, "");
  settleTask(run, task, event.next, { meta, hooks });
}

/** Waits began while the lease stays. */
export function applyWaitsOpened(
  run: MutableRun,
  event: EventValue<"waitsOpened">,
  meta: EventMeta,
  hooks: ApplyHooks,
): void {
  const task = leasedTaskOf(run, event.task, event.leaseVersion);
  for (const declaration of event.opened) {
    openWait(run, task, declaration, meta);
  }
  task.version++;
  hooks.taskMoved(run, task.number);
}

function openWait(
  run: MutableRun,
  task: MutableTask,
  declaration: WaitDeclarationShape,
  meta: EventMeta,
): void {
  const identity = waitIdentity(task.number, declaration.name, declaration.key);
  if (run.waitsByIdentity.has(identity)) {
    throw new CorruptHistory(`wait "${declaration.name}" to be opened once`, "it was before");
  }
  const wait: MutableWait = {
    number: run.waits.length,
    task: task.number,
    declaration: keepDeclaration(declaration),
    openedAtMs: meta.atMs,
    ended: undefined,
    endedEvent: 0,
    closedAtMs: 0,
    openedEvent: meta.number,
    dropped: 0,
  };
  run.waits.push(wait);
  indexWait(run, wait);
  openInput(run, wait);
}

function keepDeclaration(declaration: WaitDeclarationShape): WaitDeclarationShape {
  const { subject } = declaration;
  if (subject.case !== "input") {
    return declaration;
  }
  const fingerprint = keepBytes(subject.value.fingerprint);
  return { ...declaration, subject: { case: "input", value: { ...subject.value, fingerprint } } };
}

/** What a task waited for is there. */
export function applyWaitEnded(
  run: MutableRun,
  event: EventValue<"waitEnded">,
  meta: EventMeta,
  hooks: ApplyHooks,
): void {
  const wait = run.waits[event.wait];
  if (wait === undefined || wait.closedAtMs !== 0 || wait.task !== event.task) {
    throw new CorruptHistory(
      `an open wait ${event.wait} of task ${event.task} in run "${run.runId}"`,
      wait === undefined ? `it has ${run.waits.length}` : `it is one of task ${wait.task}, or over`,
    );
  }
  wait.ended = event;
  wait.endedEvent = meta.number;
  wait.closedAtMs = meta.atMs;
  forgetOpenWait(run, wait);
  addEndedWait(run, wait);
  if (event.outcome.case === "signalTaken") {
    takeSignal(run, event.outcome.value.signal, wait);
  } else if (event.outcome.case === "timedOut") {
    endInput(run, wait, InputStatus.EXPIRED, meta);
  }
  const task = taskOf(run, wait.task);
  if (task.status === TaskStatus.SUSPENDED) {
    makeReady(run, task, meta, hooks);
  } else {
    hooks.taskMoved(run, task.number);
    if (task.status === TaskStatus.LEASED) {
      hooks.outcomeCame(run, task.number);
    }
  }
}

function takeSignal(run: MutableRun, number: number, wait: MutableWait): void {
  const signal = run.signals[number];
  if (signal === undefined || signal.takenBy !== undefined) {
    throw new CorruptHistory(
      `a kept signal ${number} in run "${run.runId}"`,
      signal === undefined ? `it has ${run.signals.length}` : `wait ${signal.takenBy} took it`,
    );
  }
  forgetKeptSignal(run, signal);
  signal.takenBy = wait.number;
}
