import { ReviewSubject } from "@pawl/proto/v1/review_pb.js";
import { apply, applyFirst, emptyLedger } from "../core/apply.js";
import type { Command, StartRun } from "../core/command.js";
import type { DecideContext } from "../core/context.js";
import { decideFollowUp } from "../core/decide/follow-up.js";
import { decide, decideStartRun } from "../core/decide.js";
import type { Decision } from "../core/decision.js";
import type { EventBody } from "../core/event.js";
import { notFound, type Rejection } from "../core/rejection.js";
import type { MutableRun } from "../core/state.js";
import { isRunOpen } from "../core/transitions.js";
import { sha256 } from "../log/sha256.js";
import { StoreDamaged } from "../log/store-errors.js";
import type { Committer } from "./committer.js";
import { FaultLog } from "./fault-log.js";
import { findForWork } from "./find-for-work.js";
import type { KernelClock } from "./kernel-clock.js";
import { OpenWork } from "./open-work.js";
import {
  type Outcome,
  type Receiver,
  type Target,
  targetNotFound,
  unavailable,
} from "./outcome.js";
import type { PlanCache } from "./plan-cache.js";
import type { Random, Timers } from "./ports.js";
import type { Position, PositionCodec } from "./position.js";
import { PostponedStarts } from "./postponed-starts.js";
import { PromiseReceiver } from "./promise-receiver.js";
import type { Found, Residency } from "./residency.js";
import { nothingStored, Resident } from "./resident.js";
import { RunNumbers } from "./run-numbers.js";
import type { Turn } from "./turn.js";
import { Turns } from "./turns.js";
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

/**
 * The loop of one partition: decides commands one after another, applies their events at once to the pending state, and commits all
 * events of a turn as one synced batch, while the next turn gathers. Nothing leaves before it is durable.
 */
export class Loop {
  readonly clock: KernelClock;
  readonly residency: Residency;
  readonly work: OpenWork;
  readonly waiters: Waiters = new Waiters();
  readonly promises: PromiseReceiver = new PromiseReceiver();
  readonly plans: PlanCache;
  readonly numbers: RunNumbers;
  readonly faults: FaultLog = new FaultLog();
  readonly #parts: LoopParts;
  readonly #turns: Turns;
  readonly #listener: LoopListener;
  readonly #context: {
    nowMs: number;
    principal: string;
    random: () => number;
    sha256: typeof sha256;
  };
  #failure: Error | undefined;
  #closed: Resident[] = [];
  readonly #postponed = new PostponedStarts();

  constructor(parts: LoopParts, listener: LoopListener) {
    this.#parts = parts;
    this.#listener = listener;
    this.clock = parts.clock;
    this.residency = parts.residency;
    this.plans = parts.plans;
    this.numbers = new RunNumbers(parts.nextRunNumber);
    this.work = new OpenWork({
      timers: parts.timers,
      now: () => this.clock.now(),
      find: (runNumber) => findForWork(this, runNumber),
      decideOn: (resident, command) => this.decideOn(resident, command),
      command: (number, command) =>
        this.execute({ kind: "number", number }, command, "", { receiver: nobody, tag: 0 }),
      register: (connection) => this.register(connection),
      schedule: () => this.schedule(),
      closed: (runNumber) => this.#noteClosed(runNumber),
    });
    this.#turns = new Turns({
      timers: parts.timers,
      committer: parts.committer,
      positions: parts.positions,
      beforeCommit: () => this.work.dispatcher.match(),
      unsaved: (residents, bytes) => listener.unsaved(residents, bytes),
      durable: (turn) => listener.durable(turn),
      failed: (error) => this.fail(error),
    });
    this.#context = { nowMs: 0, principal: "", random: () => parts.random.fraction(), sha256 };
  }

  get durableSequence(): number {
    return this.#turns.durableHead.sequence;
  }

  /** Where the durable log ends. */
  get durableHead(): Position {
    return this.#turns.durableHead;
  }

  /** The error that ended the kernel, if one did. */
  get failure(): Error | undefined {
    return this.#failure;
  }

  /** Position of everything that is durable when the turn in flight is. */
  position(): Uint8Array {
    return this.#turns.position();
  }

  /** True when a run has ended and its end is durable. A run that is not in memory is read. */
  async isClosed(runNumber: number): Promise<boolean> {
    for (;;) {
      const found = this.residency.find(runNumber);
      if (found === undefined) {
        return true;
      }
      if (!(found instanceof Promise)) {
        const last = found.slices.at(-1);
        const end = last === undefined ? 0 : last.firstSequence + last.count - 1;
        const isDurable = found.pending.length === 0 && end <= this.durableSequence;
        return isDurable && !isRunOpen(found.run.status);
      }
      await found;
    }
  }

  /** Decides a command now, or as soon as its run is in memory; see `KernelApi.execute`. */
  execute(
    target: Target,
    command: Command,
    principal: string,
    to: { readonly receiver: Receiver; readonly tag: number },
  ): void {
    if (this.#failure !== undefined) {
      this.refuse(to, unavailable(this.#failure));
      return;
    }
    const found = this.findOrRefuse(target, to, () => this.execute(target, command, principal, to));
    if (found === "later") {
      return;
    }
    if (found === undefined && this.#mustWait(command)) {
      const refusal = this.#postponed.add({ target, command, principal, to });
      if (refusal !== undefined) {
        this.answer(to.receiver, to.tag, { accepted: false, rejection: refusal });
      }
      return;
    }
    const outcome =
      found === undefined
        ? this.#withoutState(target, command, principal)
        : this.decideOn(found, command, principal);
    this.answer(to.receiver, to.tag, outcome);
  }

  /**
   * Finds an aggregate for a receiver. `later`: it is being read and `again` will be called, or the receiver was told why not. Damage
   * refuses this aggregate by name; a store that fails ends the kernel.
   */
  findOrRefuse(
    target: Target,
    to: { readonly receiver: Receiver; readonly tag: number },
    again: () => void,
  ): Resident | undefined | "later" {
    try {
      const found = this.find(target);
      if (!(found instanceof Promise)) {
        return found;
      }
      found.then(again, (error: unknown) => this.#refuseUnreadable(to, error));
    } catch (error) {
      this.#refuseUnreadable(to, error);
    }
    return "later";
  }

  #refuseUnreadable(
    to: { readonly receiver: Receiver; readonly tag: number },
    error: unknown,
  ): void {
    if (!(error instanceof StoreDamaged)) {
      this.fail(error);
      this.refuse(to, unavailable(error instanceof Error ? error : new Error(String(error))));
      return;
    }
    this.faults.record(0, "read", error);
    const message = `Expected the stored run to be as it was written, but it is damaged: ${error.message}. Nothing of it is served; run pawl verify.`;
    this.answer(to.receiver, to.tag, {
      accepted: false,
      rejection: { reason: "PAWL_STORE_DAMAGED", message },
    });
  }

  /** Goes on with starts that had to wait for the checkpointer. */
  resumeStarts(): void {
    for (const { target, command, principal, to } of this.#postponed.take()) {
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
    this.#turns.register(receiver);
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
        command.kind === "StartRun"
          ? decideStartRun(resident.run, command, context)
          : decide(resident.run, this.work.withProgress(resident, command), context);
      if (decision.accepted && decision.events.length > 0) {
        this.#applyAll(resident, decision.events, context.nowMs);
      }
      return decision;
    });
    return toOutcome(decided, resident);
  }

  /** Asks for a commit. */
  schedule(): void {
    this.#turns.schedule();
  }

  /** Resolves when nothing is gathered or in flight. */
  drained(): Promise<void> {
    return this.#turns.drained();
  }

  /** Adds events that no command decided (seals of checkpoints, in run 0). */
  appendEvents(resident: Resident, events: readonly EventBody[]): void {
    const nowMs = this.clock.now();
    for (const body of events) {
      resident.run.eventCount++;
      this.#turns.push(resident, body, nowMs);
    }
    this.schedule();
  }

  /** Ends the loop: the first storage error is final. */
  fail(error: unknown): void {
    if (this.#failure !== undefined) {
      return;
    }
    this.#failure =
      error instanceof Error
        ? error
        : new Error("Expected the store to work, but it failed.", { cause: error });
    this.close();
    this.promises.fail(this.#failure);
    this.#listener.failed(this.#failure);
  }

  /** Calls all timers off and commits nothing more. */
  close(): void {
    this.work.close();
    this.#turns.stop();
  }

  #mustWait(command: Command): boolean {
    return (
      (command.kind === "StartRun" || command.kind === "IntendOperation") && this.#parts.isLagging()
    );
  }

  /** Refuses at once: a refusal because nothing can become durable any more need not wait. */
  refuse(to: { readonly receiver: Receiver; readonly tag: number }, rejection: Rejection): void {
    to.receiver.outcome(to.tag, { accepted: false, rejection });
    to.receiver.prepare();
    to.receiver.release(this.position());
  }

  #withoutState(target: Target, command: Command, principal: string): Outcome {
    if (command.kind === "StartRun") {
      return this.#startRun(target, command, principal);
    }
    if (command.kind === "IntendOperation" && target.kind === "ledger") {
      return this.#openLedger(target, command, principal);
    }
    return { accepted: false, rejection: targetNotFound(target) };
  }

  #startRun(target: Target, command: StartRun, principal: string): Outcome {
    const refusal = this.#parts.admit();
    if (refusal !== undefined) {
      return { accepted: false, rejection: refusal };
    }
    return this.#begin(target, decideStartRun(undefined, command, this.#contextFor(principal)));
  }

  #openLedger(
    target: Target,
    command: Extract<Command, { kind: "IntendOperation" }>,
    principal: string,
  ): Outcome {
    const refusal = this.#parts.admit();
    if (refusal !== undefined) {
      return { accepted: false, rejection: refusal };
    }
    return this.#begin(target, decide(emptyLedgerState, command, this.#contextFor(principal)));
  }

  /** Makes an aggregate from the decision that begins it. */
  #begin(target: Target, decision: Decision): Outcome {
    const first = decision.accepted ? decision.events[0] : undefined;
    if (!decision.accepted || first === undefined) {
      return decision.accepted
        ? { accepted: false, rejection: notFound("run", "") }
        : { accepted: false, rejection: decision.rejection };
    }
    const number = this.numbers.take(target);
    const { nowMs } = this.#context;
    this.work.current = number;
    try {
      const run = applyFirst(
        first,
        { atMs: nowMs, number: 1 },
        this.plans.recorded,
        this.work.hooks,
      );
      const resident = new Resident(number, run, nothingStored, []);
      this.residency.add(resident);
      // Nothing follows from a first event: a run has at least one task, and an operation is under way.
      this.#turns.push(resident, first, nowMs);
      return { accepted: true, reply: decision.reply, run, runNumber: number };
    } catch (error) {
      const text = this.faults.record(number, first.case, error);
      const message = `Expected the kernel to begin the run, but it failed: ${text}. Nothing was stored.`;
      return { accepted: false, rejection: { reason: "PAWL_INTERNAL", message } };
    }
  }

  #applyAll(resident: Resident, events: readonly EventBody[], nowMs: number): void {
    this.work.current = resident.number;
    for (const body of events) {
      apply(
        resident.run,
        body,
        { atMs: nowMs, number: resident.run.eventCount + 1 },
        this.work.hooks,
      );
      this.#turns.push(resident, body, nowMs);
    }
    this.#followUp(resident, nowMs);
  }

  #followUp(resident: Resident, nowMs: number): void {
    for (
      let events = decideFollowUp(resident.run);
      events.length > 0;
      events = decideFollowUp(resident.run)
    ) {
      for (const body of events) {
        apply(
          resident.run,
          body,
          { atMs: nowMs, number: resident.run.eventCount + 1 },
          this.work.hooks,
        );
        this.#turns.push(resident, body, nowMs);
      }
    }
    if (this.#closed.length > 0) {
      for (const closed of this.#closed.splice(0)) {
        this.waiters.closed(closed.number, closed.run, (receiver) => this.register(receiver));
      }
    }
  }

  #noteClosed(runNumber: number): void {
    const resident = this.residency.resident(runNumber);
    if (resident !== undefined) {
      this.#closed.push(resident);
    }
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
      return resident.run.fault !== "" && !allowedWhenFaulted.has(command)
        ? this.faults.refuse(resident)
        : work();
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
      resident.run = this.residency.rebuild(resident, this.#turns.baseMs);
      this.work.adopt(resident);
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
      resident.run.eventCount = resident.recordedEvents;
      resident.isSound = false;
    }
  }
}

const allowedWhenFaulted: ReadonlySet<string> = new Set([
  "ResolveReview",
  "TerminateRun",
  "ObserveOperation",
]);

/** Never changed: decide only reads it. */
const emptyLedgerState: MutableRun = emptyLedger();

function toOutcome(decision: Decision, resident: Resident): Outcome {
  return decision.accepted
    ? { accepted: true, reply: decision.reply, run: resident.run, runNumber: resident.number }
    : { accepted: false, rejection: decision.rejection };
}
