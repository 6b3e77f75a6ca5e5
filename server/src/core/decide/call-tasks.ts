import type { PlanTaskShape } from "@pawl/proto/v1/plan_wire.js";
import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import type { CallTasks } from "../command.js";
import type { DecideContext } from "../context.js";
import { accept, acceptExisting, type Decision, reject } from "../decision.js";
import type { EventBody } from "../event.js";
import { equalBytes } from "../identity/content-digest.js";
import { encodeUtf8 } from "../identity/utf8.js";
import { holds, leaseLost } from "../lease-standing.js";
import { limits } from "../limits.js";
import { refuseCall } from "../plan/compile-plan.js";
import { calledTask, isTaken } from "../plan/tasks-of-run.js";
import { fingerprintConflict, illegalTransition, type Rejection } from "../rejection.js";
import type { Run, Task } from "../state.js";
import { isTaskClosed } from "../transitions.js";
import { closeTaskReview } from "./close-reviews.js";
import { doubtOpenCalls } from "./doubts.js";
import { findTask, taskNotFound } from "./find.js";
import { refuseNew } from "./hold-back.js";

/** What the calls of one event may take, in bytes: an event is never split. */
const eventBytesMax = 131_072;
/** Calls of one event. */
const eventCallsMax = 256;

/**
 * Calls tasks, and ends, stops or lets go earlier calls. Refusals, in order: no task; for each call a name that stands for another task; then, unless nothing is new, lease
 * lost, the task was asked to stop, a bad call, more tasks than a run may have. What was called before is answered `existing`; a name to end, stop or let go that is
 * not open, or was never called, is passed over, and one for which it was said before.
 */
export function decideCallTasks(run: Run, command: CallTasks, ctx: DecideContext): Decision {
  const found = findTask(run, command.task);
  if (found === undefined) {
    return reject(taskNotFound(command.task));
  }
  const { task } = found;
  const fresh: PlanTaskShape[] = [];
  for (const called of command.called) {
    const known = isTaken(run, called.name) ? findTask(run, called.name) : undefined;
    if (known === undefined) {
      fresh.push(called);
    } else if (!isSameCall(run, known.task, task, called)) {
      return reject(otherCall(run, known.task, called, ctx));
    }
  }
  const left = leaveCalls(run, task, command, ctx);
  if (fresh.length === 0 && left.length === 0) {
    return acceptExisting();
  }
  if (!holds(task, command.leaseVersion)) {
    return reject(leaseLost(task, command.leaseVersion));
  }
  const isFresh = fresh.length > 0;
  const refusal =
    (isFresh ? refuseNew(found, "CallTasks") : undefined) ?? refuseCalls(run, task, fresh);
  if (refusal !== undefined) {
    return reject(refusal);
  }
  return accept([...callEvents(task, command.leaseVersion, fresh), ...left]);
}

/** What becomes of earlier calls: those that end at once, those that are asked to stop, those that go on by themselves. */
function leaveCalls(run: Run, task: Task, command: CallTasks, ctx: DecideContext): EventBody[] {
  const cancelled = openCalls(run, task, command.cancels);
  const ends = new Set(cancelled);
  const isLeft = (number: number): boolean => !ends.has(number);
  const abandoned = openCalls(run, task, command.abandons)
    .filter(isLeft)
    .filter((number) => run.tasks[number]?.abandoned === false);
  const events = cancelCalls(run, task, cancelled, ctx);
  for (const [reason, names] of byReason(command.stops)) {
    const stopped = openCalls(run, task, names)
      .filter(isLeft)
      .filter((number) => run.tasks[number]?.stop === undefined);
    events.push(...stopCalls(run, task, { stopped, reason }, ctx));
    for (const number of stopped) ends.add(number);
  }
  if (abandoned.length > 0) {
    events.push({ case: "callsAbandoned", value: { task: task.number, called: abandoned } });
  }
  return events;
}

function byReason(stops: CallTasks["stops"]): Map<string, string[]> {
  const names = new Map<string, string[]>();
  for (const { name, reason } of stops) {
    names.set(reason, [...(names.get(reason) ?? []), name]);
  }
  return names;
}

/** Asks open calls to stop; what a person was asked about one that nobody holds is moot. */
function stopCalls(
  run: Run,
  caller: Task,
  { stopped, reason }: { readonly stopped: readonly number[]; readonly reason: string },
  ctx: Pick<DecideContext, "principal">,
): EventBody[] {
  if (stopped.length === 0) {
    return [];
  }
  const stopping: EventBody = {
    case: "callsStopping",
    value: { task: caller.number, called: [...stopped], reason },
  };
  return [stopping, ...stopped.flatMap((number) => closeTaskReview(run, number, ctx))];
}

/** Ends open calls of a task that nobody wants any more: what they may have done is asked about, what a person was asked about them is moot. */
export function cancelCalls(
  run: Run,
  caller: Task,
  numbers: readonly number[],
  ctx: Pick<DecideContext, "principal">,
): EventBody[] {
  if (numbers.length === 0) {
    return [];
  }
  const doubts = numbers.flatMap((number) => {
    const { status, leaseVersion = 0 } = run.tasks[number] ?? {};
    return status === TaskStatus.LEASED ? doubtOpenCalls(run, number, leaseVersion) : [];
  });
  const moot = numbers.flatMap((number) => closeTaskReview(run, number, ctx));
  const cancelled: EventBody = {
    case: "callsCancelled",
    value: { task: caller.number, called: [...numbers] },
  };
  return [...doubts, cancelled, ...moot];
}

function openCalls(run: Run, task: Task, names: readonly string[]): number[] {
  const numbers = new Set<number>();
  for (const name of names) {
    const number = run.calledByName.get(name);
    const state = number === undefined ? undefined : run.tasks[number];
    if (state?.caller === task.number && !isTaskClosed(state.status)) {
      numbers.add(state.number);
    }
  }
  // As they are found again in rows: what ends with one event lies in the order of the calls.
  return [...numbers].sort((one, other) => one - other);
}

function isSameCall(run: Run, known: Task, caller: Task, called: PlanTaskShape): boolean {
  const recorded = calledTask(run, known.number)?.shape;
  return (
    recorded !== undefined &&
    known.caller === caller.number &&
    recorded.kind === called.kind &&
    recorded.queue === called.queue &&
    sameContent(recorded.input, called.input)
  );
}

function sameContent(left: Uint8Array | undefined, right: Uint8Array | undefined): boolean {
  return left === undefined || right === undefined ? left === right : equalBytes(left, right);
}

function otherCall(run: Run, known: Task, called: PlanTaskShape, ctx: DecideContext): Rejection {
  const recorded = calledTask(run, known.number)?.shape;
  const text = (shape: PlanTaskShape | undefined): Uint8Array =>
    shape === undefined
      ? encodeUtf8("a task of the plan")
      : (shape.input ?? encodeUtf8(shape.kind));
  const differs = differenceOf(recorded, called);
  const conflict = fingerprintConflict({
    entity: "task",
    id: called.name,
    recorded: ctx.sha256(text(recorded)),
    received: ctx.sha256(text(called)),
    differs,
  });
  if (recorded === undefined || differs === "input") {
    return conflict;
  }
  const [was, is] = [recorded[differs], called[differs]];
  const message = `Expected task "${called.name}" to be called with the recorded ${differs} "${was}", but it is called with ${differs} "${is}". Next: call another task under another name; the recorded call stays.`;
  return { ...conflict, message };
}

function differenceOf(
  recorded: PlanTaskShape | undefined,
  called: PlanTaskShape,
): "kind" | "queue" | "input" {
  if (recorded === undefined || recorded.kind !== called.kind) {
    return "kind";
  }
  return recorded.queue === called.queue ? "input" : "queue";
}

function refuseCalls(run: Run, task: Task, fresh: readonly PlanTaskShape[]): Rejection | undefined {
  if (fresh.length === 0) {
    return undefined;
  }
  const isRun = run.cancelRequestedAtMs !== 0;
  if (isRun || task.stop !== undefined) {
    return illegalTransition("PAWL_ILLEGAL_TRANSITION", {
      entity: isRun ? "run" : "task",
      status: isRun ? "RUNNING, asked to stop" : "LEASED, asked to stop",
      command: "call a task",
      legal: ["report", "release"],
    });
  }
  for (const [index, called] of fresh.entries()) {
    const refusal = refuseCall(called, `tasks[${index}]`);
    if (refusal !== undefined) {
      return refusal;
    }
  }
  return run.called.length + fresh.length > limits.calledTasksMax ? tooMany() : undefined;
}

function tooMany(): Rejection {
  const bound = `${limits.calledTasksMax} called tasks`;
  return {
    reason: "PAWL_TOO_LARGE",
    message: `Expected at most ${bound} in a run, but this would be more. Next: split the work into several runs.`,
    detail: { case: "overloaded", value: { resource: "called tasks", bound } },
  };
}

function callEvents(
  task: Task,
  leaseVersion: number,
  fresh: readonly PlanTaskShape[],
): EventBody[] {
  const events: EventBody[] = [];
  let called: PlanTaskShape[] = [];
  let bytes = 0;
  const flush = (): void => {
    if (called.length > 0) {
      events.push({ case: "tasksCalled", value: { task: task.number, leaseVersion, called } });
    }
    called = [];
    bytes = 0;
  };
  for (const shape of fresh) {
    const size = 256 + (shape.input?.length ?? 0);
    if (called.length >= eventCallsMax || bytes + size > eventBytesMax) {
      flush();
    }
    called.push(shape);
    bytes += size;
  }
  flush();
  return events;
}
