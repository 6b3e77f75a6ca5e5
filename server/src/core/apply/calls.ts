import { LeaseEndReason } from "@pawl/proto/log/v1/event_pb.js";
import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import type { EventBody, EventMeta, EventValue } from "../event.js";
import { lostLeaseCause } from "../lease-cause.js";
import { compileRecordedCall } from "../plan/compile-recorded.js";
import { isTaken } from "../plan/tasks-of-run.js";
import type { CalledTask, MutableRun, MutableTask } from "../state.js";
import { CorruptHistory } from "./corrupt.js";
import type { ApplyHooks } from "./hooks.js";
import { addCalled } from "./indices.js";
import { keepBytes } from "./keep.js";
import { announceTask, leasedTaskOf, moveTask, taskOf, wakeCaller } from "./move-task.js";
import { leaseBaseOf, noteJoined } from "./plan-revised.js";
import { newTask } from "./run-started.js";

type CallEvent = Extract<
  EventBody,
  { case: "tasksCalled" | "callsStopping" | "callsAbandoned" | "callsCancelled" }
>;

/** What became of the calls of a task. */
export function applyCallEvent(
  run: MutableRun,
  body: CallEvent,
  meta: EventMeta,
  hooks: ApplyHooks,
): void {
  switch (body.case) {
    case "tasksCalled":
      applyTasksCalled(run, body.value, meta, hooks);
      break;
    case "callsStopping":
      applyCallsStopping(run, body.value, meta, hooks);
      break;
    case "callsAbandoned":
      applyCallsAbandoned(run, body.value);
      break;
    case "callsCancelled":
      applyCallsCancelled(run, body.value, meta, hooks);
  }
}

/** A task called others: they join the run. */
function applyTasksCalled(
  run: MutableRun,
  event: EventValue<"tasksCalled">,
  meta: EventMeta,
  hooks: ApplyHooks,
): void {
  const caller = leasedTaskOf(run, event.task, event.leaseVersion);
  for (const shape of event.called) {
    const spec = compileRecordedCall(shape, run.tasks.length);
    if (isTaken(run, spec.name)) {
      throw new CorruptHistory(`task "${spec.name}" to be called once`, "there is one");
    }
    const called = { shape: { ...shape, input: keepBytes(shape.input) }, spec };
    addCall(run, caller, called, meta.atMs).calledEvent = meta.number;
    run.openTasks++;
    announceTask(run, spec.number, hooks);
  }
  caller.version++;
}

/**
 * Adds a called task in its first state.
 *
 * @param called its number is the next one of the run.
 */
export function addCall(
  run: MutableRun,
  caller: MutableTask,
  called: CalledTask,
  atMs: number,
): MutableTask {
  const task = newTask(called.spec, atMs, leaseBaseOf(run));
  task.version = 1; // No plan tells of it, so it has its row from the start.
  task.caller = caller.number;
  addCalled(run, called);
  noteJoined(run, called, caller.number);
  run.tasks.push(task);
  caller.calls ??= { open: new Set(), ended: [] };
  caller.calls.open.add(task.number);
  return task;
}

/** These called tasks are asked to stop. */
function applyCallsStopping(
  run: MutableRun,
  event: EventValue<"callsStopping">,
  meta: EventMeta,
  hooks: ApplyHooks,
): void {
  for (const number of event.called) {
    const task = callOf(run, number, event.task);
    task.stop = { atMs: meta.atMs, reason: event.reason };
    if (task.status === TaskStatus.LEASED) {
      task.version++;
      hooks.taskMoved(run, number);
      hooks.cancelAsked(run, number, event.reason);
    } else {
      moveTask(run, task, TaskStatus.CANCELLED, meta);
      hooks.taskMoved(run, number);
      wakeCaller(run, task, meta, hooks);
    }
  }
}

/** These called tasks are let go. */
function applyCallsAbandoned(run: MutableRun, event: EventValue<"callsAbandoned">): void {
  for (const number of event.called) {
    const task = callOf(run, number, event.task);
    task.abandoned = true;
    task.version++;
  }
}

function callOf(run: MutableRun, number: number, caller: number): MutableTask {
  const task = taskOf(run, number);
  if (task.caller !== caller) {
    throw new CorruptHistory(`task ${number} to be called by ${caller}`, `${task.caller}`);
  }
  return task;
}

/** Nobody wants the results of these called tasks any more. */
function applyCallsCancelled(
  run: MutableRun,
  event: EventValue<"callsCancelled">,
  meta: EventMeta,
  hooks: ApplyHooks,
): void {
  for (const number of event.called) {
    const task = callOf(run, number, event.task);
    const wasLeased = task.status === TaskStatus.LEASED;
    if (wasLeased) {
      task.leaseEndReason = LeaseEndReason.GRACE_OVER;
      task.sessionId = "";
    }
    moveTask(run, task, TaskStatus.CANCELLED, meta);
    if (wasLeased) {
      hooks.leaseOver(run, number, lostLeaseCause(LeaseEndReason.GRACE_OVER));
    }
    hooks.taskMoved(run, number);
    wakeCaller(run, task, meta, hooks);
  }
}
