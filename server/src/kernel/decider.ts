import { ReviewSubject } from "@pawl/proto/v1/review_pb.js";
import { apply } from "../core/apply.js";
import { type Caller, kernelCaller, localStanding, type StandingOf } from "../core/caller.js";
import type { Command } from "../core/command.js";
import type { DecideContext } from "../core/context.js";
import { decideFollowUp } from "../core/decide/follow-up.js";
import { decide, decideStartRun } from "../core/decide.js";
import type { Decision } from "../core/decision.js";
import type { EventBody } from "../core/event.js";
import type { Rejection } from "../core/rejection.js";
import type { Retention } from "../core/retention.js";
import type { Run } from "../core/state.js";
import { isRunOpen } from "../core/transitions.js";
import { sha256 } from "../log/sha256.js";
import type { FaultLog } from "./fault-log.js";
import type { KernelClock } from "./kernel-clock.js";
import type { Lookers } from "./lookers.js";
import type { Obligations } from "./obligations.js";
import type { OpenWork } from "./open-work.js";
import type { Outcome, Receiver } from "./outcome.js";
import type { Random } from "./ports.js";
import type { Residency } from "./residency.js";
import type { Resident } from "./resident.js";
import type { Turns } from "./turns.js";
import type { Waiters } from "./waiters.js";

type Accepted = Extract<Decision, { readonly accepted: true }>;

/** What deciding needs of the loop. */
export interface DeciderParts {
  readonly clock: KernelClock;
  readonly random: Random;
  readonly residency: Residency;
  readonly work: OpenWork;
  readonly obligations: Obligations;
  readonly turns: Turns;
  readonly faults: FaultLog;
  readonly waiters: Waiters;
  readonly lookers: Lookers;
  /** Asked before a run begins once more: why it must be refused now, or undefined. */
  readonly admit: () => Rejection | undefined;
  /** The version of a workflow's code that is current; 0: none is. */
  readonly currentVersion: (namespace: string, workflow: string) => number;
  /** How long a namespace keeps what. */
  readonly retentionOf: (namespace: string) => Retention;
  /** Has a receiver released with the turn that gathers. */
  readonly register: (receiver: Receiver) => void;
}

/**
 * Decides commands on runs in memory, applies their events at once, and puts these into the turn that gathers. What `decide` or `apply`
 * throws sets aside the one run it happened on.
 */
export class Decider {
  readonly #parts: DeciderParts;
  readonly #context: { -readonly [Key in keyof DecideContext]: DecideContext[Key] };
  /** Runs that ended by the events being applied, and whose waiters are told after them. */
  #closed: Resident[] = [];

  constructor(parts: DeciderParts) {
    this.#parts = parts;
    this.#context = {
      ...kernelCaller,
      nowMs: 0,
      runNumber: 0,
      standingOf: localStanding,
      currentVersion: parts.currentVersion,
      retentionOf: parts.retentionOf,
      random: () => parts.random.fraction(),
      sha256,
    };
  }

  /** Decides a command on a run in memory and applies its events. */
  decideOn(resident: Resident, command: Command, caller: Caller = kernelCaller): Outcome {
    const context = this.contextFor(caller, resident.number);
    const decided = this.#guard(resident, command.kind, () => {
      const decision =
        command.kind === "StartRun"
          ? decideStartRun(resident.run, command, context)
          : decide(resident.run, this.#parts.work.withMemory(resident, command), context);
      if (decision.accepted && decision.events.length > 0) {
        return this.#carryOut(resident, command, decision, context.nowMs);
      }
      if (!decision.accepted && decision.evidence !== undefined) {
        this.#applyAll(resident, decision.evidence, context.nowMs);
      }
      return decision;
    });
    this.#parts.obligations.pay();
    return toOutcome(decided, resident);
  }

  /** Applies what was decided. A run that begins once more is new work: it is refused while new runs are. */
  #carryOut(resident: Resident, { kind }: Command, decision: Accepted, nowMs: number): Decision {
    const begins =
      beginning.has(kind) && decision.events.some((event) => isBeginning(resident.run, event));
    const refusal = begins ? this.#parts.admit() : undefined;
    if (refusal !== undefined) {
      return { accepted: false, rejection: refusal };
    }
    this.#applyAll(resident, decision.events, nowMs);
    if (begins) {
      this.#parts.work.began(resident.run);
    }
    return decision;
  }

  /** What a decision may know beside the state: the time, the principal, chance. Valid until the next call. */
  contextFor({ principal, roles, authenticated }: Caller, runNumber = 0): DecideContext {
    this.#context.nowMs = this.#parts.clock.now();
    this.#context.runNumber = runNumber;
    this.#context.principal = principal;
    this.#context.roles = roles;
    this.#context.authenticated = authenticated;
    return this.#context;
  }

  /** Has decisions look up there what principals may do now. Until it is called only `local` may do anything. */
  useStanding(standingOf: StandingOf): void {
    this.#context.standingOf = standingOf;
  }

  /** Notes that a run ended by the events being applied. */
  noteClosed(runNumber: number): void {
    const resident = this.#parts.residency.resident(runNumber);
    if (resident !== undefined) {
      this.#closed.push(resident);
    }
  }

  /** Applies what was decided together with the event that began an aggregate. */
  applyMore(resident: Resident, events: readonly EventBody[], nowMs: number): void {
    this.#applyAll(resident, events, nowMs);
  }

  #applyAll(resident: Resident, events: readonly EventBody[], nowMs: number): void {
    this.#parts.work.current = resident.number;
    this.#applyEach(resident, events, nowMs);
    this.#followUp(resident, nowMs);
  }

  #applyEach(resident: Resident, events: readonly EventBody[], nowMs: number): void {
    for (const body of events) {
      apply(
        resident.run,
        body,
        { atMs: nowMs, number: resident.run.eventCount + 1 },
        this.#parts.work.hooks,
      );
      this.#parts.turns.push(resident, body, nowMs);
    }
  }

  #followUp(resident: Resident, nowMs: number): void {
    for (
      let events = decideFollowUp(resident.run);
      events.length > 0;
      events = decideFollowUp(resident.run)
    ) {
      this.#applyEach(resident, events, nowMs);
    }
    if (!this.#parts.lookers.isEmpty) {
      const { number, run } = resident;
      const tell = run.deletion === undefined ? "look" : "deleted";
      this.#parts.lookers[tell](number, run, (receiver) => this.#parts.register(receiver));
    }
    if (this.#closed.length > 0) {
      for (const closed of this.#closed.splice(0)) {
        this.#parts.work.openRuns.remove();
        if (isRunOpen(closed.run.status)) {
          continue; // It was replaced: whoever waits for its end waits for that of the next incarnation.
        }
        this.#parts.waiters.closed(closed.number, closed.run, (receiver) =>
          this.#parts.register(receiver),
        );
      }
    }
  }

  /**
   * Runs decide and apply for one run. What they throw is a fault of the kernel's own code, or of that run's history: that run alone is
   * set aside for a person, and all others are served.
   */
  #guard(resident: Resident, command: string, work: () => Decision): Decision {
    const pendingBefore = resident.pending.length;
    try {
      return resident.run.fault !== "" && !allowedWhenFaulted.has(command)
        ? this.#parts.faults.refuse(resident)
        : work();
    } catch (error) {
      this.#closed = [];
      resident.pending.length = pendingBefore;
      this.#setAside(resident, command, error);
      return this.#parts.faults.refuse(resident);
    }
  }

  #setAside(resident: Resident, command: string, error: unknown): void {
    const text = this.#parts.faults.record(resident.number, command, error);
    try {
      resident.run = this.#parts.residency.rebuild(resident, this.#parts.turns.baseMs);
      this.#parts.work.adopt(resident);
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
        this.#parts.clock.now(),
      );
    } catch (again) {
      // Its history itself does not apply: it stays set aside in memory, and is found so again after a restart.
      this.#parts.faults.record(resident.number, "rebuild", again);
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
  "ExpireProposals",
]);

function toOutcome(decision: Decision, resident: Resident): Outcome {
  return decision.accepted
    ? { accepted: true, reply: decision.reply, run: resident.run, runNumber: resident.number }
    : { accepted: false, rejection: decision.rejection };
}

/** Commands by which a run that has ended may be open again. */
const beginning: ReadonlySet<string> = new Set(["StartRun", "RewindRun", "RetryRun"]);

function isBeginning({ status }: Run, event: EventBody): boolean {
  return event.case === "runRestarted" || (event.case === "runRewound" && !isRunOpen(status));
}
