import type { LeaseEndReason } from "@pawl/proto/log/v1/event_pb.js";
import { ReviewSubject } from "@pawl/proto/v1/review_pb.js";
import { apply, applyFirst, emptyLedger } from "../core/apply.js";
import type { ApplyHooks } from "../core/apply/hooks.js";
import type { Command, StartRun } from "../core/command.js";
import type { DecideContext } from "../core/context.js";
import { nextDeadlineMs } from "../core/deadline.js";
import { decide, decideStartRun } from "../core/decide.js";
import { decideFollowUp } from "../core/decide/follow-up.js";
import type { Decision } from "../core/decision.js";
import type { EventBody } from "../core/event.js";
import { limits } from "../core/limits.js";
import { notFound, type Rejection } from "../core/rejection.js";
import type { MutableRun } from "../core/state.js";
import { sha256 } from "../log/sha256.js";
import type { Committer } from "./committer.js";
import { DeadlineQueue, type Due } from "./deadline-queue.js";
import { Dispatcher } from "./dispatcher.js";
import { FaultLog } from "./fault-log.js";
import type { KernelClock } from "./kernel-clock.js";
import { type Lease, LeaseTable } from "./lease-table.js";
import type { Outcome, Receiver, Target } from "./outcome.js";
import type { PlanCache } from "./plan-cache.js";
import type { PositionCodec } from "./position.js";
import type { Random, Timers } from "./ports.js";
import { PromiseReceiver } from "./promise-receiver.js";
import type { Found, Residency } from "./residency.js";
import { nothingStored, Resident } from "./resident.js";
import type { Session } from "./session.js";
import { Turn } from "./turn.js";
import { Waiters } from "./waiters.js";

/** What the loop is built from. */
export interface LoopParts {
  readonly clock: KernelClock;
  readonly timers: Timers;
  readonly random: Random;
  readonly residency: Residency;
  readonly committer: Committer;
  readonly positions: PositionCodec;
  readonly plans: PlanCache;
  /** Number for the next aggregate. */
  readonly nextRunNumber: number;
  /** Asked before a new aggregate is made: why it must be refused now, or undefined. */
  readonly admit: () => Rejection | undefined;
  /** True while new aggregates must wait because the checkpointer lags too far behind. */
  readonly isLagging: () => boolean;
}

/** A start that waits for the checkpointer. */
interface Postponed {
  readonly target: Target;
  readonly command: Command;
  readonly principal: string;
  readonly to: { readonly receiver: Receiver; readonly tag: number };
}

/** Starts that may wait for the checkpointer; beyond it they are refused. */
const postponedMax = 20_000;

/** What the loop tells those around it. */
export interface LoopListener {
  /** Runs have new slices: the checkpointer has work. Called when the segment was handed over, before it is durable. */
  unsaved(residents: readonly Resident[], bytes: number): void;
  /** A turn is durable. */
  durable(turn: Turn): void;
  /** The store failed. Nothing more is acknowledged. */
  failed(error: Error): void;
}

/** A command that names no caller's answer. */
const nobody: Receiver = { outcome: () => {}, prepare: () => {}, release: () => {} };

interface TaskDeadline extends Due {
  readonly run: number;
  readonly task: number;
}

/**
 * The loop of one partition: decides commands one after another, applies their events at once to the pending state, and commits all
 * events of a turn as one synced batch, while the next turn gathers. Nothing leaves before it is durable.
 */
export class Loop {
  readonly clock: KernelClock;
  readonly residency: Residency;
  readonly dispatcher: Dispatcher;
  readonly leases: LeaseTable;
  readonly waiters: Waiters = new Waiters();
  readonly promises: PromiseReceiver = new PromiseReceiver();
  readonly plans: PlanCache;
  readonly faults: FaultLog = new FaultLog();
  readonly #parts: LoopParts;
  readonly #committer: Committer;
  readonly #deadlines: DeadlineQueue<TaskDeadline>;
  readonly #listener: LoopListener;
  readonly #hooks: ApplyHooks;
  readonly #context: { nowMs: number; principal: string; random: () => number; sha256: typeof sha256 };
  #turn: Turn;
  #isScheduled = false;
  #inFlight: Turn | undefined;
  #durableSequence: number;
  #nextRunNumber: number;
  #failure: Error | undefined;
  #idle: (() => void)[] = [];
  /** The aggregate that events are being applied to. */
  #current = 0;
  #closed: Resident[] = [];
  #postponed: Postponed[] = [];

  constructor(parts: LoopParts, listener: LoopListener) {
    this.#parts = parts;
    this.#listener = listener;
    this.clock = parts.clock;
    this.residency = parts.residency;
    this.plans = parts.plans;
    this.#committer = parts.committer;
    this.#durableSequence = parts.committer.pendingHead.sequence;
    this.#nextRunNumber = parts.nextRunNumber;
    this.#turn = new Turn();
    const now = (): number => this.clock.now();
    this.dispatcher = new Dispatcher(
      (number) => this.residency.find(number),
      (resident, task, session) => this.#lease(resident, task, session),
      () => this.schedule(),
    );
    this.leases = new LeaseTable(parts.timers, now, (lease, reason) => this.endLease(lease, reason));
    this.#deadlines = new DeadlineQueue(parts.timers, now, (deadline) => this.#fireDeadline(deadline));
    this.#context = { nowMs: 0, principal: "", random: () => parts.random.fraction(), sha256 };
    this.#hooks = this.#makeHooks();
  }

  get durableSequence(): number {
    return this.#durableSequence;
  }

  get nextRunNumber(): number {
    return this.#nextRunNumber;
  }

  /** The error that ended the kernel, if one did. */
  get failure(): Error | undefined {
    return this.#failure;
  }

  /** Position of everything that is durable when the turn in flight is. */
  position(): Uint8Array {
    return this.#parts.positions.encode(this.#committer.pendingHead);
  }

  /** Decides a command now, or as soon as its run is in memory; see `KernelApi.execute`. */
  execute(target: Target, command: Command, principal: string, to: { readonly receiver: Receiver; readonly tag: number }): void {
    if (this.#failure !== undefined) {
      this.#refuseAtOnce(to, unavailable(this.#failure));
      return;
    }
    const found = this.find(target);
    if (found instanceof Promise) {
      const again = (): void => this.execute(target, command, principal, to);
      found.then(again, (error: unknown) => this.fail(error));
      return;
    }
    if (found === undefined && this.#mustWait(command)) {
      this.#postpone({ target, command, principal, to });
      return;
    }
    const outcome = found === undefined ? this.#withoutState(target, command, principal) : this.decideOn(found, command, principal);
    this.answer(to.receiver, to.tag, outcome);
  }

  /** Goes on with starts that had to wait for the checkpointer. */
  resumeStarts(): void {
    const postponed = this.#postponed;
    this.#postponed = [];
    for (const { target, command, principal, to } of postponed) {
      this.execute(target, command, principal, to);
    }
  }

  /** Gives an outcome to a receiver and has it released with this turn. */
  answer(receiver: Receiver, tag: number, outcome: Outcome): void {
    this.register(receiver);
    receiver.outcome(tag, outcome);
  }

  /** Has a receiver released with this turn. */
  register(receiver: Receiver): void {
    this.#turn.receivers.add(receiver);
    this.schedule();
  }

  /** Finds an aggregate: in memory, absent, or a promise after which to ask again. */
  find(target: Target): Found {
    switch (target.kind) {
      case "number":
        return this.residency.find(target.number);
      case "run":
        return this.residency.findRun(target.namespace, target.runId);
      case "ledger":
        return this.residency.findLedger(target.namespace, target.operationKey);
    }
  }

  /** Decides a command on a run in memory and applies its events. */
  decideOn(resident: Resident, command: Command, principal = ""): Outcome {
    const context = this.#contextFor(principal);
    const decided = this.#guard(resident, command.kind, () => {
      const decision =
        command.kind === "StartRun" ? decideStartRun(resident.run, command, context) : decide(resident.run, command, context);
      if (decision.accepted && decision.events.length > 0) {
        this.#applyAll(resident, decision.events, context.nowMs);
      }
      return decision;
    });
    return toOutcome(decided, resident);
  }

  /** Ends a lease by its table entry. */
  endLease(lease: Lease, reason: LeaseEndReason): void {
    const target: Target = { kind: "number", number: lease.run };
    const { task, leaseVersion, progress } = lease;
    this.execute(target, { kind: "EndLease", task, leaseVersion, reason, delayMs: 0, progress }, "", { receiver: nobody, tag: 0 });
  }

  /** Asks for a commit: at once when idle, otherwise when the one in flight is durable. */
  schedule(): void {
    if (!this.#isScheduled && this.#inFlight === undefined) {
      this.#isScheduled = true;
      this.#parts.timers.soon(() => {
        this.#isScheduled = false;
        this.#commit();
      });
    }
  }

  /** Resolves when nothing is gathered or in flight. */
  async drained(): Promise<void> {
    while (this.#failure === undefined && (this.#inFlight !== undefined || !this.#turn.isEmpty || this.#isScheduled)) {
      await new Promise<void>((resolve) => {
        this.#idle.push(resolve);
        this.schedule();
      });
    }
  }

  /** Arms what the stored state says is due, for a task of a run that is not in memory. */
  armDeadline(run: number, task: number, dueMs: number): void {
    this.#deadlines.add({ run, task, dueMs });
  }

  /** Adds events that no command decided (seals of checkpoints, in run 0). */
  appendEvents(resident: Resident, events: readonly EventBody[]): void {
    const nowMs = this.clock.now();
    for (const body of events) {
      resident.run.eventCount++;
      this.#push(resident, body, nowMs);
    }
    this.schedule();
  }

  /** Ends the loop: the first storage error is final. */
  fail(error: unknown): void {
    if (this.#failure !== undefined) {
      return;
    }
    this.#failure = error instanceof Error ? error : new Error("Expected the store to work, but it failed.", { cause: error });
    this.close();
    this.promises.fail(this.#failure);
    this.#listener.failed(this.#failure);
    for (const resolve of this.#idle.splice(0)) {
      resolve();
    }
  }

  /** Calls all timers off. */
  close(): void {
    this.#deadlines.close();
    this.leases.close();
  }

  #mustWait(command: Command): boolean {
    return (command.kind === "StartRun" || command.kind === "IntendOperation") && this.#parts.isLagging();
  }

  /** Reports of running work never wait; a start does, so that the tail of the log stays bounded. */
  #postpone(start: Postponed): void {
    if (this.#postponed.length < postponedMax) {
      this.#postponed.push(start);
      return;
    }
    this.answer(start.to.receiver, start.to.tag, {
      accepted: false,
      rejection: {
        reason: "PAWL_OVERLOADED",
        message: `Expected at most ${postponedMax} starts to wait for the disk, but this would be one more. Send it again later.`,
        detail: { case: "overloaded", value: { resource: "checkpointer", bound: `${postponedMax} starts` } },
        retryAfterMs: 500,
      },
    });
  }

  #refuseAtOnce(to: { readonly receiver: Receiver; readonly tag: number }, rejection: Rejection): void {
    to.receiver.outcome(to.tag, { accepted: false, rejection });
    to.receiver.prepare();
    to.receiver.release(this.position());
  }

  #withoutState(target: Target, command: Command, principal: string): Outcome {
    if (command.kind === "StartRun") {
      return this.#startRun(command, principal);
    }
    if (command.kind === "IntendOperation" && target.kind === "ledger") {
      return this.#openLedger(command, principal);
    }
    const rejection =
      target.kind === "run"
        ? notFound("run", target.runId)
        : target.kind === "ledger"
          ? notFound("operation", target.operationKey)
          : notFound("run", `${target.number}`);
    return { accepted: false, rejection };
  }

  #startRun(command: StartRun, principal: string): Outcome {
    const refusal = this.#parts.admit();
    if (refusal !== undefined) {
      return { accepted: false, rejection: refusal };
    }
    return this.#begin(decideStartRun(undefined, command, this.#contextFor(principal)));
  }

  #openLedger(command: Extract<Command, { kind: "IntendOperation" }>, principal: string): Outcome {
    const refusal = this.#parts.admit();
    if (refusal !== undefined) {
      return { accepted: false, rejection: refusal };
    }
    return this.#begin(decide(emptyLedgerState, command, this.#contextFor(principal)));
  }

  /** Makes an aggregate from the decision that begins it. */
  #begin(decision: Decision): Outcome {
    const first = decision.accepted ? decision.events[0] : undefined;
    if (!decision.accepted || first === undefined) {
      return decision.accepted
        ? { accepted: false, rejection: notFound("run", "") }
        : { accepted: false, rejection: decision.rejection };
    }
    const number = this.#nextRunNumber++;
    const { nowMs } = this.#context;
    this.#current = number;
    try {
      const run = applyFirst(first, { atMs: nowMs, number: 1 }, this.plans.recorded, this.#hooks);
      const resident = new Resident(number, run, nothingStored, []);
      this.residency.add(resident);
      this.#push(resident, first, nowMs);
      this.#followUp(resident, nowMs);
      return { accepted: true, reply: decision.reply, run, runNumber: number };
    } catch (error) {
      const text = this.faults.record(number, first.case, error);
      const message = `Expected the kernel to begin the run, but it failed: ${text}. Nothing was stored.`;
      return { accepted: false, rejection: { reason: "PAWL_INTERNAL", message } };
    }
  }

  #applyAll(resident: Resident, events: readonly EventBody[], nowMs: number): void {
    this.#current = resident.number;
    for (const body of events) {
      apply(resident.run, body, { atMs: nowMs, number: resident.run.eventCount + 1 }, this.#hooks);
      this.#push(resident, body, nowMs);
    }
    this.#followUp(resident, nowMs);
  }

  #followUp(resident: Resident, nowMs: number): void {
    for (let events = decideFollowUp(resident.run); events.length > 0; events = decideFollowUp(resident.run)) {
      for (const body of events) {
        apply(resident.run, body, { atMs: nowMs, number: resident.run.eventCount + 1 }, this.#hooks);
        this.#push(resident, body, nowMs);
      }
    }
    if (this.#closed.length > 0) {
      for (const closed of this.#closed.splice(0)) {
        this.waiters.closed(closed.number, closed.run, (receiver) => this.register(receiver));
      }
    }
  }

  #push(resident: Resident, body: EventBody, nowMs: number): void {
    const turn = this.#turn;
    if (turn.eventCount === 0) {
      turn.baseMs = nowMs;
    }
    if (resident.pending.length === 0) {
      turn.touched.push(resident);
    }
    resident.pending.push({ deltaMs: Math.max(0, nowMs - turn.baseMs), body });
    turn.eventCount++;
  }

  #lease(resident: Resident, task: number, session: Session): boolean {
    const outcome = this.decideOn(resident, { kind: "LeaseTask", task, sessionId: session.id, worker: session.worker });
    const { listener } = session;
    const spec = resident.run.plan.tasks[task];
    const state = resident.run.tasks[task];
    if (!outcome.accepted || listener === undefined || spec === undefined || state === undefined) {
      return false;
    }
    const lease = this.leases.grant({
      run: resident.number,
      task,
      leaseVersion: state.leaseVersion,
      leaseMs: spec.leaseMs,
      sessionId: session.id,
      session,
      handle: session.nextHandle(),
    });
    session.leases.set(lease.handle, lease);
    this.register(listener);
    listener.offer(lease.handle, resident.run, task);
    return true;
  }

  #fireDeadline(deadline: TaskDeadline): void {
    const target: Target = { kind: "number", number: deadline.run };
    this.execute(target, { kind: "FireDeadline", task: deadline.task }, "", { receiver: nobody, tag: 0 });
  }

  #contextFor(principal: string): DecideContext {
    this.#context.nowMs = this.clock.now();
    this.#context.principal = principal;
    return this.#context;
  }

  /**
   * Runs decide and apply for one run. What they throw is a fault of the kernel's own code, or of that run's history: that run alone is
   * set aside for a person, and all others are served.
   */
  #guard(resident: Resident, command: string, work: () => Decision): Decision {
    const pendingBefore = resident.pending.length;
    try {
      return resident.run.fault !== "" && !allowedWhenFaulted.has(command) ? this.faults.refuse(resident) : work();
    } catch (error) {
      this.#closed = [];
      resident.pending.length = pendingBefore;
      this.#setAside(resident, command, error);
      return this.faults.refuse(resident);
    }
  }

  #setAside(resident: Resident, command: string, error: unknown): void {
    const text = this.faults.record(resident.number, command, error);
    try {
      resident.run = this.residency.rebuild(resident);
      this.#applyAll(
        resident,
        [
          { case: "runFaulted", value: { command, error: text } },
          {
            case: "reviewOpened",
            value: {
              review: resident.run.reviews.length,
              subject: ReviewSubject.RUN,
              operation: 0,
              task: 0,
              known: `The kernel failed while it handled ${command}: ${text}. Retry when the cause is mended, or terminate the run.`,
            },
          },
        ],
        this.clock.now(),
      );
    } catch (again) {
      // Its history itself does not apply: it stays set aside in memory, and is found so again after a restart.
      this.faults.record(resident.number, "rebuild", again);
      resident.run.fault = `${command}: ${text}`;
    }
  }

  #makeHooks(): ApplyHooks {
    return {
      taskReady: (run, task) => {
        this.dispatcher.push(this.#current, run, task);
        this.schedule();
      },
      taskMoved: (run, task) => this.#rearm(run, task),
      leaseOver: (_run, task, cause) => this.#leaseOver(task, cause),
      cancelAsked: (run, task) => this.#cancelAsked(run, task),
      runClosed: () => {
        const resident = this.residency.resident(this.#current);
        if (resident !== undefined) {
          this.#closed.push(resident);
        }
      },
    };
  }

  #rearm(run: MutableRun, number: number): void {
    const task = run.tasks[number];
    const spec = run.plan.tasks[number];
    const dueMs = task === undefined || spec === undefined ? undefined : nextDeadlineMs(run, task, spec);
    if (dueMs !== undefined) {
      this.#deadlines.add({ run: this.#current, task: number, dueMs });
    }
  }

  #leaseOver(task: number, cause: string): void {
    const lease = this.leases.remove(this.#current, task);
    const session = lease?.session;
    if (lease === undefined || session === undefined) {
      return;
    }
    session.leases.delete(lease.handle);
    if (cause !== "" && session.listener !== undefined) {
      this.register(session.listener);
      session.listener.lost(lease.handle, cause);
    }
  }

  #cancelAsked(run: MutableRun, task: number): void {
    const lease = this.leases.find(this.#current, task);
    const listener = lease?.session?.listener;
    if (lease !== undefined && listener !== undefined) {
      this.register(listener);
      listener.cancel(lease.handle, run.cancelReason, run.plan.tasks[task]?.cancelGraceMs ?? limits.cancelGraceMsDefault);
    }
  }

  #commit(): void {
    if (this.#failure !== undefined || this.#inFlight !== undefined) {
      return;
    }
    this.dispatcher.match();
    const turn = this.#turn;
    this.#turn = new Turn();
    if (turn.touched.length === 0) {
      this.#release(turn);
      return;
    }
    this.#inFlight = turn;
    try {
      const { bytes, durable } = this.#committer.commit(turn);
      this.#listener.unsaved(turn.touched, bytes);
      for (const receiver of turn.receivers) {
        receiver.prepare();
      }
      durable.then(() => this.#durable(turn), (error: unknown) => this.fail(error));
    } catch (error) {
      this.fail(error);
    }
  }

  #durable(turn: Turn): void {
    this.#inFlight = undefined;
    this.#durableSequence = this.#committer.pendingHead.sequence;
    const position = this.position();
    for (const receiver of turn.receivers) {
      receiver.release(position);
    }
    this.#listener.durable(turn);
    this.#goOn();
  }

  /** A turn without events is durable as soon as what came before it is. */
  #release(turn: Turn): void {
    if (turn.receivers.size > 0) {
      const position = this.position();
      for (const receiver of turn.receivers) {
        receiver.prepare();
        receiver.release(position);
      }
    }
    this.#goOn();
  }

  #goOn(): void {
    if (!this.#turn.isEmpty) {
      this.#commit();
    } else {
      for (const resolve of this.#idle.splice(0)) {
        resolve();
      }
    }
  }
}

const allowedWhenFaulted: ReadonlySet<string> = new Set(["ResolveReview", "TerminateRun", "ObserveOperation"]);

/** Never changed: decide only reads it. */
const emptyLedgerState: MutableRun = emptyLedger();

function toOutcome(decision: Decision, resident: Resident): Outcome {
  return decision.accepted
    ? { accepted: true, reply: decision.reply, run: resident.run, runNumber: resident.number }
    : { accepted: false, rejection: decision.rejection };
}

/** Refusal while the kernel is not able to answer. */
export function unavailable(cause: Error): Rejection {
  return {
    reason: "PAWL_UNAVAILABLE",
    message: `Expected a kernel that can write, but it has stopped: ${cause.message} Send the same request again once it has restarted.`,
    retryAfterMs: 1000,
  };
}
