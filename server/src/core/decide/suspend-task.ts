import { LeaseEndReason } from "@pawl/proto/log/v1/event_pb.js";
import type { WaitDeclarationShape } from "@pawl/proto/log/v1/event_wire.js";
import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { isUnstarted } from "../children.js";
import type { DeclareWaits, SuspendTask, WaitFor } from "../command.js";
import type { DecideContext } from "../context.js";
import { accept, acceptExisting, type Decision, reject } from "../decision.js";
import type { EventBody } from "../event.js";
import { encodeUtf8 } from "../identity/utf8.js";
import { holds, leaseLost, mustStop } from "../lease-standing.js";
import { limits } from "../limits.js";
import { nameOfTask } from "../plan/tasks-of-run.js";
import { fingerprintConflict, invalidField, type Rejection } from "../rejection.js";
import { type Run, type Signal, type Task, type Wait, waitIdentity } from "../state.js";
import { describeSubject, subjectKey } from "../wait-subject.js";
import { declareWait, fitsDeclaration } from "./declare-wait.js";
import { doubtOpenCalls } from "./doubts.js";
import { endWait, isDue, overdue, type WaitOutcome } from "./end-waits.js";
import { findTask, taskNotFound } from "./find.js";
import { settlementOf } from "./wake-waiters.js";

/**
 * Gives a task back until something it waits for is there. Refusals, in order: no task, other waits than this lease was suspended with,
 * lease lost, then for each wait: a name that was recorded for another kind of wait, one whose outcome was given before, a time too far
 * ahead; more waits than a run may have, or more open ones than a task may have; nothing to wait for. The same again is answered `existing`.
 */
export function decideSuspendTask(run: Run, command: SuspendTask, ctx: DecideContext): Decision {
  const found = findTask(run, command.task);
  if (found === undefined) {
    return reject(taskNotFound(command.task));
  }
  const { task } = found;
  if (!holds(task, command.leaseVersion)) {
    return repeated(run, task, command, ctx);
  }
  const plan = planWaits(run, task, command, ctx);
  if ("reason" in plan) {
    return reject(plan);
  }
  const hasUnseen = plan.hasUnseen || lastCallEnd(run, task) > command.seenThrough;
  if (plan.numbers.length === 0 && !hasUnseen && (task.calls?.open.size ?? 0) === 0) {
    return reject(invalidField("waits", "something to wait for", "nothing, and no open call"));
  }
  const isCancelled = mustStop(run, task);
  const next = isCancelled
    ? TaskStatus.CANCELLED
    : hasUnseen
      ? TaskStatus.READY
      : TaskStatus.SUSPENDED;
  const suspended: EventBody = {
    case: "taskSuspended",
    value: {
      task: task.number,
      leaseVersion: command.leaseVersion,
      opened: isCancelled ? [] : plan.opened,
      waits: isCancelled ? [] : plan.numbers,
      seenThrough: command.seenThrough,
      next,
      progress: command.progress,
    },
  };
  const ends = isCancelled ? [] : plan.ends;
  return accept([...doubtOpenCalls(run, task.number, task.leaseVersion), suspended, ...ends]);
}

/** Number of the event that ended a called task last; 0: none has ended. */
function lastCallEnd(run: Run, { calls }: Task): number {
  return run.tasks[calls?.ended.at(-1) ?? -1]?.closedEvent ?? 0;
}

/**
 * Begins waits while the lease stays. Refusals, in order: no task, then (unless all began before) lease lost, for each wait: a name that was recorded for
 * another kind of wait, a time too far ahead; more waits than a run may have. The same again is answered `existing`.
 */
export function decideDeclareWaits(run: Run, command: DeclareWaits, ctx: DecideContext): Decision {
  const found = findTask(run, command.task);
  if (found === undefined) {
    return reject(taskNotFound(command.task));
  }
  const { task } = found;
  if (!holds(task, command.leaseVersion)) {
    const haveBegun = command.waits.every((wanted) => {
      const known = findWait(run, task, wanted);
      return known !== undefined && fitsDeclaration(wanted, known.declaration, ctx.runNumber);
    });
    return haveBegun ? acceptExisting() : reject(leaseLost(task, command.leaseVersion));
  }
  const plan = planWaits(run, task, { ...command, seenThrough: 0 }, ctx);
  if ("reason" in plan) {
    return reject(plan);
  }
  if (plan.opened.length === 0) {
    return acceptExisting();
  }
  const opened: EventBody = {
    case: "waitsOpened",
    value: { task: task.number, leaseVersion: command.leaseVersion, opened: plan.opened },
  };
  return accept([opened, ...plan.ends]);
}

/** Something that is there already. */
interface Ending {
  readonly wait: Pick<Wait, "number" | "task">;
  readonly atMs: number;
  readonly outcome: WaitOutcome;
}

/** What becomes of the waits of a Suspend. */
class WaitPlan {
  /** Those that are new. */
  readonly opened: WaitDeclarationShape[] = [];
  /** Numbers of all. */
  readonly numbers: number[] = [];
  /** True when one ended beyond what the code has seen. */
  hasUnseen = false;
  readonly #endings: Ending[] = [];
  /** How many of `opened` ask something. */
  #asked = 0;
  readonly #run: Run;
  readonly #task: Task;
  readonly #nowMs: number;
  /** How many kept signals, by what is waited for, waits of this plan have taken. */
  readonly #taken = new Map<string, number>();

  constructor(run: Run, task: Task, { nowMs }: DecideContext) {
    this.#run = run;
    this.#task = task;
    this.#nowMs = nowMs;
  }

  /** The ends of those for which the thing is there already, the earliest first. */
  get ends(): EventBody[] {
    return this.#endings
      .sort((one, other) => one.atMs - other.atMs)
      .map(({ wait, outcome }) => endWait(wait, outcome));
  }

  /** One that was recorded before. */
  know({ number, declaration, closedAtMs, endedEvent }: Wait, seenThrough: number): void {
    this.numbers.push(number);
    this.hasUnseen ||= endedEvent > seenThrough;
    if (closedAtMs === 0) {
      this.#lookAhead(number, declaration);
    }
  }

  /** One that begins now. */
  open(declaration: WaitDeclarationShape): void {
    const number = this.#run.waits.length + this.opened.length;
    this.numbers.push(number);
    this.opened.push(declaration);
    if (declaration.subject.case === "input") {
      this.#asked++;
    }
    this.#lookAhead(number, declaration);
  }

  /** Number of the next input request. */
  get nextInput(): number {
    return this.#run.inputs.length + this.#asked;
  }

  /** The oldest kept signal or update that no wait before has taken. */
  #takeSignal(declaration: Wait["declaration"]): Signal | undefined {
    const { keptSignals, signals } = this.#run;
    const key = subjectKey(declaration);
    const kept = key === undefined ? undefined : keptSignals.get(key);
    if (key === undefined || kept === undefined) {
      return undefined;
    }
    const index = this.#taken.get(key) ?? 0;
    this.#taken.set(key, index + 1);
    return signals[kept[index] ?? -1];
  }

  /** The thing itself, when it has happened before anybody waited for it. */
  #whatIsThere(declaration: Wait["declaration"]): Omit<Ending, "wait"> | undefined {
    const { subject } = declaration;
    if (subject.case === "proposal") {
      const proposal = this.#run.proposals[subject.value.proposal];
      return proposal === undefined ? undefined : settlementOf(proposal);
    }
    if (subject.case === "child") {
      return endOfChild(this.#run, subject.value.obligation);
    }
    if (subject.case === "obligation") {
      return answerOf(this.#run, subject.value.obligation);
    }
    if (subject.case === "review") {
      return endOfReview(this.#run, subject.value.review);
    }
    const signal = this.#takeSignal(declaration);
    return signal === undefined
      ? undefined
      : {
          atMs: signal.receivedAtMs,
          outcome: { case: "signalTaken", value: { signal: signal.number } },
        };
  }

  #lookAhead(number: number, declaration: Wait["declaration"]): void {
    const there = this.#whatIsThere(declaration);
    if (there !== undefined) {
      this.#endings.push({ wait: { number, task: this.#task.number }, ...there });
      return;
    }
    if (isDue(declaration.dueAtMs, this.#nowMs)) {
      const wait = { number, task: this.#task.number };
      const outcome = overdue(declaration);
      this.#endings.push({ wait, atMs: declaration.dueAtMs, outcome });
    }
  }
}

/** Waits, and up to which event the code has been given outcomes. */
type WaitsAsked = Pick<SuspendTask, "waits" | "seenThrough">;
/** The end of a child that is there already, or that it could not be started. */
function endOfChild(run: Run, number: number): Omit<Ending, "wait"> | undefined {
  const child = run.obligations[number];
  if (child === undefined || (child.ended === undefined && !isUnstarted(child))) {
    return undefined;
  }
  const atMs = child.ended === undefined ? child.settledAtMs : child.endedAtMs;
  return { atMs, outcome: { case: "child", value: { obligation: number } } };
}

/** A decision that is there already. */
function endOfReview(run: Run, number: number): Omit<Ending, "wait"> | undefined {
  const resolvedAtMs = run.reviews[number]?.resolvedAtMs ?? 0;
  return resolvedAtMs === 0
    ? undefined
    : { atMs: resolvedAtMs, outcome: { case: "review", value: { review: number } } };
}

/** The answer of another run that is there already. */
function answerOf(run: Run, number: number): Omit<Ending, "wait"> | undefined {
  const obligation = run.obligations[number];
  return obligation === undefined || obligation.settledAtMs === 0
    ? undefined
    : {
        atMs: obligation.settledAtMs,
        outcome: { case: "obligation", value: { obligation: number } },
      };
}

function planWaits(
  run: Run,
  task: Task,
  command: WaitsAsked,
  ctx: DecideContext,
): WaitPlan | Rejection {
  const plan = new WaitPlan(run, task, ctx);
  for (const [index, wanted] of command.waits.entries()) {
    const known = findWait(run, task, wanted);
    const refusal =
      known === undefined
        ? openWait(plan, wanted, index, { run, ctx })
        : refuseKnown(known, wanted, { command, index, ctx });
    if (refusal !== undefined) {
      return refusal;
    }
    if (known !== undefined) {
      plan.know(known, command.seenThrough);
    }
  }
  if (run.waits.length + plan.opened.length > limits.waitsMax) {
    return tooMany("waits", `${limits.waitsMax} waits in a run`);
  }
  return task.openWaits.length + plan.opened.length > limits.openWaitsMax
    ? tooMany("open waits", `${limits.openWaitsMax} open waits of a task`)
    : plan;
}

function openWait(
  plan: WaitPlan,
  wanted: WaitFor,
  index: number,
  { run, ctx }: { readonly run: Run; readonly ctx: DecideContext },
): Rejection | undefined {
  const declaration = declareWait(wanted, run, ctx, plan.nextInput);
  if ("reason" in declaration) {
    return invalidField(`waits[${index}]`, declaration.expected, declaration.actual);
  }
  plan.open(declaration);
  return undefined;
}

function findWait(run: Run, task: Task, { name, key }: WaitFor): Wait | undefined {
  return run.waits[run.waitsByIdentity.get(waitIdentity(task.number, name, key)) ?? -1];
}

function refuseKnown(
  known: Wait,
  wanted: WaitFor,
  parts: { readonly command: WaitsAsked; readonly index: number; readonly ctx: DecideContext },
): Rejection | undefined {
  const { command, index, ctx } = parts;
  if (!fitsDeclaration(wanted, known.declaration, ctx.runNumber)) {
    return waitConflict(known, wanted, ctx);
  }
  return known.endedEvent !== 0 && known.endedEvent <= command.seenThrough
    ? invalidField(
        `waits[${index}]`,
        `a wait whose outcome was not yet given to the code (seen_through is ${command.seenThrough})`,
        `"${wanted.name}", which ended with event ${known.endedEvent}`,
      )
    : undefined;
}

function waitConflict(known: Wait, wanted: WaitFor, ctx: DecideContext): Rejection {
  const recorded = describeSubject(known.declaration.subject, ctx.runNumber);
  const received = describeSubject(wanted.subject, ctx.runNumber);
  const id = wanted.key === undefined ? wanted.name : `${wanted.name}/${wanted.key}`;
  const conflict = fingerprintConflict({
    entity: "wait",
    id,
    recorded: ctx.sha256(encodeUtf8(recorded)),
    received: ctx.sha256(encodeUtf8(received)),
    differs: "subject",
  });
  const message = `Expected wait "${id}" to be for ${recorded}, as is recorded, but it is for ${received}. Next: wait for something else under another name; the recorded one stays.`;
  return { ...conflict, message };
}

function repeated(run: Run, task: Task, command: SuspendTask, ctx: DecideContext): Decision {
  const isSuspended =
    task.leaseVersion === command.leaseVersion && task.leaseEndReason === LeaseEndReason.SUSPENDED;
  if (!isSuspended) {
    return reject(leaseLost(task, command.leaseVersion));
  }
  for (const wanted of command.waits) {
    const known = findWait(run, task, wanted);
    if (known !== undefined && !fitsDeclaration(wanted, known.declaration, ctx.runNumber)) {
      return reject(waitConflict(known, wanted, ctx));
    }
    // A run that was asked to stop opened no waits.
    if (known === undefined && run.cancelRequestedAtMs === 0) {
      return reject(otherWaits(run, task, command, ctx));
    }
  }
  return acceptExisting();
}

function otherWaits(run: Run, task: Task, command: SuspendTask, ctx: DecideContext): Rejection {
  const recorded = run.waits.filter((wait) => wait.task === task.number && wait.dropped === 0);
  const names = (waits: readonly { readonly name: string }[]): Uint8Array =>
    ctx.sha256(encodeUtf8(waits.map(({ name }) => name).join("\n")));
  return fingerprintConflict({
    entity: "suspension",
    id: nameOfTask(run, task.number),
    recorded: names(recorded.map(({ declaration }) => declaration)),
    received: names(command.waits),
    differs: "waits",
  });
}

function tooMany(resource: string, bound: string): Rejection {
  return {
    reason: "PAWL_TOO_LARGE",
    message: `Expected at most ${bound}, but this would be more. Next: split the work into several runs.`,
    detail: { case: "overloaded", value: { resource, bound } },
  };
}
