import { type Caller, kernelCaller, type StandingOf } from "../core/caller.js";
import type { Command } from "../core/command.js";
import type { EventBody } from "../core/event.js";
import type { Rejection } from "../core/rejection.js";
import { isRunOpen } from "../core/transitions.js";
import { Beginner } from "./beginner.js";
import { Decider } from "./decider.js";
import { FaultLog } from "./fault-log.js";
import { findForWork } from "./find-for-work.js";
import { Finder } from "./finder.js";
import type { KernelClock } from "./kernel-clock.js";
import { Lookers } from "./lookers.js";
import type { LoopListener, LoopParts } from "./loop-parts.js";
import { isNewWork } from "./new-work.js";
import { Obligations } from "./obligations.js";
import { OpenWork } from "./open-work.js";
import { type Outcome, type Receiver, type ReplyTo, type Target, unavailable } from "./outcome.js";
import type { PlanCache } from "./plan-cache.js";
import type { Position } from "./position.js";
import { PostponedStarts } from "./postponed-starts.js";
import { PromiseReceiver } from "./promise-receiver.js";
import type { Found, Residency } from "./residency.js";
import type { Resident } from "./resident.js";
import { RunNumbers } from "./run-numbers.js";
import { Turns } from "./turns.js";
import { Waiters } from "./waiters.js";

/** A command that names no caller's answer. */
const nobody: Receiver = {
  outcome: () => {},
  prepare: () => {},
  release: () => {},
  fault: () => {},
};

/**
 * The loop of one partition: decides commands one after another, applies their events at once to the pending state, and commits all
 * events of a turn as one synced batch, while the next turn gathers. Nothing leaves before it is durable.
 */
export class Loop {
  readonly clock: KernelClock;
  readonly residency: Residency;
  readonly work: OpenWork;
  /** What runs owe each other. */
  readonly obligations: Obligations;
  readonly waiters: Waiters = new Waiters();
  /** Who waits for something in the state of a run. */
  readonly lookers: Lookers = new Lookers();
  readonly promises: PromiseReceiver = new PromiseReceiver();
  readonly plans: PlanCache;
  readonly numbers: RunNumbers;
  readonly faults: FaultLog = new FaultLog();
  readonly #parts: LoopParts;
  readonly #turns: Turns;
  readonly #listener: LoopListener;
  readonly #decider: Decider;
  readonly #beginner: Beginner;
  #failure: Error | undefined;
  #held: Rejection | undefined;
  #riding: { readonly resident: Resident; readonly make: () => readonly EventBody[] } | undefined;
  readonly #postponed = new PostponedStarts();
  readonly #finder: Finder;

  constructor(parts: LoopParts, listener: LoopListener) {
    this.#parts = parts;
    this.#listener = listener;
    this.clock = parts.clock;
    this.residency = parts.residency;
    this.plans = parts.plans;
    this.numbers = new RunNumbers(parts.nextRunNumber);
    this.#finder = new Finder({
      residency: parts.residency,
      faults: this.faults,
      answer: (to, rejection) => this.answer(to.receiver, to.tag, { accepted: false, rejection }),
      refuse: (to, rejection) => this.refuse(to, rejection),
      fail: (error) => this.fail(error),
    });
    this.obligations = new Obligations({
      timers: parts.timers,
      faults: this.faults,
      findSender: (runNumber) => findForWork(this, runNumber),
      findReceiver: (target) => this.find(target),
      decideOn: (resident, command, caller) => this.decideOn(resident, command, caller),
      begin: (target, command, caller) =>
        this.#parts.isLagging() ? undefined : this.#beginner.withoutState(target, command, caller),
      plans: this.plans.recorded,
      isWorking: () => this.#failure === undefined && this.#held === undefined,
      schedule: () => this.schedule(),
      fail: (error) => this.fail(error),
    });
    this.work = new OpenWork({
      timers: parts.timers,
      now: () => this.clock.now(),
      find: (runNumber) => findForWork(this, runNumber),
      decideOn: (resident, command) => this.decideOn(resident, command),
      command: (number, command) =>
        this.execute({ kind: "number", number }, command, kernelCaller, {
          receiver: nobody,
          tag: 0,
        }),
      register: (connection) => this.register(connection),
      ...{ schedule: () => this.schedule(), currentVersion: parts.currentVersion },
      obliged: (runNumber, run, obligation) => this.obligations.owe(runNumber, run, obligation),
      closed: (runNumber) => this.#decider.noteClosed(runNumber),
    });
    parts.residency.onDamaged = (runNumber) => this.work.forget(runNumber);
    this.#turns = new Turns({
      timers: parts.timers,
      committer: parts.committer,
      positions: parts.positions,
      ...parts.observe,
      beforeCommit: () => this.#beforeCommit(),
      unsaved: (residents, bytes) => listener.unsaved(residents, bytes),
      durable: (turn) => listener.durable(turn),
      failed: (error) => this.fail(error),
    });
    this.#decider = new Decider({
      clock: parts.clock,
      random: parts.random,
      residency: parts.residency,
      work: this.work,
      obligations: this.obligations,
      turns: this.#turns,
      faults: this.faults,
      waiters: this.waiters,
      lookers: this.lookers,
      ...{ admit: parts.admit, currentVersion: parts.currentVersion },
      retentionOf: parts.retentionOf,
      register: (receiver) => this.register(receiver),
    });
    this.#beginner = new Beginner({
      decider: this.#decider,
      residency: parts.residency,
      work: this.work,
      turns: this.#turns,
      faults: this.faults,
      plans: parts.plans,
      ...{ numbers: this.numbers, admit: parts.admit, tombstones: parts.tombstones },
    });
  }

  get durableSequence(): number {
    return this.#turns.durableHead.sequence;
  }

  /** Where the durable log ends. */
  get durableHead(): Position {
    return this.#turns.durableHead;
  }

  /** Starts that wait for the checkpointer. */
  get postponedStarts(): number {
    return this.#postponed.size;
  }

  /** Bytes of commands that wait for their runs to be read. */
  get parkedBytes(): number {
    return this.#finder.parkedBytes;
  }

  /** Runs with events that are not handed to the store yet. */
  get gathering(): readonly Resident[] {
    return this.#turns.gathering;
  }

  /** The error that ended the kernel, if one did. */
  get failure(): Error | undefined {
    return this.#failure;
  }

  /** Why nothing more is decided; undefined while commands are. See `hold`. */
  get held(): Rejection | undefined {
    return this.#held;
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
  execute(target: Target, command: Command, caller: Caller, to: ReplyTo): void {
    if (this.#failure !== undefined) {
      this.refuse(to, unavailable(this.#failure));
      return;
    }
    if (this.#held !== undefined) {
      this.answer(to.receiver, to.tag, { accepted: false, rejection: this.#held });
      return;
    }
    const found = this.findOrRefuse(
      target,
      to,
      () => this.#executeLater(target, command, caller, to),
      command,
    );
    if (found === "later") {
      return;
    }
    if (this.#parts.isLagging() && isNewWork(target, command, found?.run)) {
      const refusal = this.#postponed.add({ target, command, caller, to });
      if (refusal !== undefined) {
        this.answer(to.receiver, to.tag, { accepted: false, rejection: refusal });
      }
      return;
    }
    const outcome =
      found === undefined
        ? this.#beginner.withoutState(target, command, caller)
        : this.decideOn(found, command, caller);
    this.answer(to.receiver, to.tag, outcome);
  }

  /** Finds an aggregate for a receiver; see `Finder.findOrRefuse`. */
  findOrRefuse(
    target: Target,
    to: ReplyTo,
    again: () => void,
    command?: Command,
  ): Resident | undefined | "later" {
    return this.#finder.findOrRefuse(target, to, again, command);
  }

  /** Goes on with starts that had to wait for the checkpointer. */
  resumeStarts(): void {
    for (const { target, command, caller, to } of this.#postponed.take()) {
      this.#executeLater(target, command, caller, to);
    }
  }

  /** Decides a command that had to wait, unless the credential that it came with has ended meanwhile: nobody may give it then. */
  #executeLater(target: Target, command: Command, caller: Caller, to: ReplyTo): void {
    const rejection = this.#failure === undefined ? caller.ended?.() : undefined;
    if (rejection === undefined) {
      this.execute(target, command, caller, to);
    } else {
      this.answer(to.receiver, to.tag, { accepted: false, rejection });
    }
  }

  /** Gives an outcome to a receiver and has it released with this turn. */
  answer(receiver: Receiver, tag: number, outcome: Outcome): void {
    this.register(receiver);
    if (!outcome.accepted) {
      this.#parts.observe.meter.rejected(outcome.rejection);
    }
    receiver.outcome(tag, outcome);
  }

  /** Has a receiver released with this turn. */
  register(receiver: Receiver): void {
    this.#turns.register(receiver);
  }

  /** Finds an aggregate: in memory, absent, or a promise after which to ask again. */
  find(target: Target): Found {
    return this.#finder.find(target);
  }

  /** Why something that is not there is refused: it never was, or it was deleted. @throws StoreDamaged */
  absent(target: Target): Rejection {
    return this.#parts.tombstones.absent(target);
  }

  /** Why something that is not there may not begin, when it was deleted. @throws StoreDamaged */
  buried(target: Target): Rejection | undefined {
    return this.#parts.tombstones.refusal(target);
  }

  /** Decides a command on a run in memory and applies its events. */
  decideOn(resident: Resident, command: Command, caller: Caller = kernelCaller): Outcome {
    return this.#decider.decideOn(resident, command, caller);
  }

  /** Has decisions look up there what principals may do now. Until it is called only `local` may do anything. */
  useStanding(standingOf: StandingOf): void {
    this.#decider.useStanding(standingOf);
  }

  /** Asks for a commit. */
  schedule(): void {
    this.#turns.schedule();
  }

  /** Resolves when nothing is gathered or in flight. */
  drained(): Promise<void> {
    return this.#turns.drained();
  }

  /** Adds events of the store itself (seals of checkpoints, namespaces), in run 0. Gives back the time they bear. */
  appendEvents(resident: Resident, events: readonly EventBody[]): number {
    if (this.#held !== undefined) {
      return this.clock.now();
    }
    const nowMs = this.clock.now();
    for (const body of events) {
      resident.run.eventCount++;
      this.#turns.push(resident, body, nowMs);
    }
    this.schedule();
    return nowMs;
  }

  /** Adds events of the store itself to the next commit that has others: they are worth none of their own. */
  appendWithNext(resident: Resident, make: () => readonly EventBody[]): void {
    this.#riding = { resident, make };
  }

  /** Commits what still waits for others, when none came. */
  appendWaiting(): void {
    const riding = this.#riding;
    this.#riding = undefined;
    if (riding !== undefined) {
      this.appendEvents(riding.resident, riding.make());
    }
  }

  #beforeCommit(): void {
    if (this.#held !== undefined) {
      return;
    }
    this.work.dispatcher.match();
    if (this.#riding !== undefined && this.#turns.gathering.length > 0) {
      this.appendWaiting();
    }
  }

  /** Decides nothing more, in this process: every command is refused. What is decided already is committed, and reads go on. */
  hold(rejection: Rejection): void {
    this.#held = rejection;
    this.work.close();
    this.resumeStarts();
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
    this.obligations.close();
    this.#turns.stop();
  }

  /**
   * Refuses at once: a refusal because nothing can become durable any more need not wait. A receiver that still holds what is not durable is told
   * nothing, since its release would give all of it away; the failure ends it by itself.
   */
  refuse(to: ReplyTo, rejection: Rejection): void {
    this.#parts.observe.meter.rejected(rejection);
    if (to.receiver !== this.promises && this.#turns.isHeldFor(to.receiver)) {
      return;
    }
    to.receiver.outcome(to.tag, { accepted: false, rejection });
    to.receiver.prepare();
    // What is pending may never be durable.
    to.receiver.release(this.#turns.durablePosition());
  }
}
