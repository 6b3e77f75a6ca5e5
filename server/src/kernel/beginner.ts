import { applyFirst, emptyLedger } from "../core/apply.js";
import type { Caller } from "../core/caller.js";
import type { Command, StartRun } from "../core/command.js";
import { decide, decideStartRun } from "../core/decide.js";
import type { Decision } from "../core/decision.js";
import { notFound, type Rejection } from "../core/rejection.js";
import type { MutableRun } from "../core/state.js";
import type { Decider } from "./decider.js";
import type { FaultLog } from "./fault-log.js";
import type { OpenWork } from "./open-work.js";
import type { Outcome, Target } from "./outcome.js";
import type { PlanCache } from "./plan-cache.js";
import type { Residency } from "./residency.js";
import { nothingStored, Resident } from "./resident.js";
import type { RunNumbers } from "./run-numbers.js";
import type { Tombstones } from "./tombstones.js";
import type { Turns } from "./turns.js";

/** What beginning an aggregate needs of the loop. */
export interface BeginnerParts {
  readonly decider: Decider;
  readonly residency: Residency;
  readonly work: OpenWork;
  readonly turns: Turns;
  readonly faults: FaultLog;
  readonly plans: PlanCache;
  readonly numbers: RunNumbers;
  /** What is left of what was deleted. */
  readonly tombstones: Tombstones;
  /** Asked before a new aggregate is made: why it must be refused now, or undefined. */
  readonly admit: () => Rejection | undefined;
}

/** Begins aggregates: runs by their start, ledgers by their first intent or the proposal of it. What targets nothing else is refused as not found. */
export class Beginner {
  readonly #parts: BeginnerParts;

  constructor(parts: BeginnerParts) {
    this.#parts = parts;
  }

  /** Decides a command on an aggregate that does not exist. */
  withoutState(target: Target, command: Command, caller: Caller): Outcome {
    if (command.kind === "StartRun") {
      return this.#startRun(target, command, caller);
    }
    const opensLedger = command.kind === "IntendOperation" || command.kind === "ProposeAction";
    if (opensLedger && target.kind === "ledger") {
      return this.#openLedger(target, command, caller);
    }
    const gone = command.kind === "DeleteRun" ? this.#parts.tombstones.gone(target) : undefined;
    return gone === undefined
      ? { accepted: false, rejection: this.#parts.tombstones.absent(target) }
      : { accepted: true, reply: { existing: true }, ...gone };
  }

  #startRun(target: Target, command: StartRun, caller: Caller): Outcome {
    const refusal = this.#parts.admit();
    if (refusal !== undefined) {
      return { accepted: false, rejection: refusal };
    }
    const admitted = this.#parts.tombstones.admit(target, command);
    if (!("kind" in admitted)) {
      return { accepted: false, rejection: admitted };
    }
    const context = this.#parts.decider.contextFor(caller);
    return this.#begin(target, decideStartRun(undefined, admitted, context), context.nowMs);
  }

  #openLedger(
    target: Target,
    command: Extract<Command, { kind: "IntendOperation" | "ProposeAction" }>,
    caller: Caller,
  ): Outcome {
    const refusal = this.#parts.admit();
    if (refusal !== undefined) {
      return { accepted: false, rejection: refusal };
    }
    const admitted = this.#parts.tombstones.admit(target, command);
    if (!("kind" in admitted)) {
      return { accepted: false, rejection: admitted };
    }
    const context = this.#parts.decider.contextFor(caller);
    return this.#begin(target, decide(emptyLedgerState, admitted, context), context.nowMs);
  }

  /** Makes an aggregate from the decision that begins it. */
  #begin(target: Target, decision: Decision, nowMs: number): Outcome {
    const first = decision.accepted ? decision.events[0] : undefined;
    if (!decision.accepted || first === undefined) {
      return decision.accepted
        ? { accepted: false, rejection: notFound("run", "") }
        : { accepted: false, rejection: decision.rejection };
    }
    const number = this.#parts.numbers.take(target);
    this.#parts.work.current = number;
    try {
      const run = applyFirst(
        first,
        { atMs: nowMs, number: 1 },
        this.#parts.plans.recorded,
        this.#parts.work.hooks,
      );
      const resident = new Resident(number, run, nothingStored, []);
      this.#parts.residency.add(resident);
      this.#parts.work.began(run);
      // Nothing follows from a first event: a run has at least one task, and an operation is under way or proposed.
      this.#parts.turns.push(resident, first, nowMs);
      if (decision.events.length > 1) {
        this.#parts.decider.applyMore(resident, decision.events.slice(1), nowMs);
      }
      return { accepted: true, reply: decision.reply, run, runNumber: number };
    } catch (error) {
      const text = this.#parts.faults.record(number, first.case, error);
      const message = `Expected the kernel to begin the run, but it failed: ${text}. Nothing was stored. Next: report it to who runs the kernel, with what its log says.`;
      return { accepted: false, rejection: { reason: "PAWL_INTERNAL", message } };
    }
  }
}

/** Never changed: decide only reads it. */
const emptyLedgerState: MutableRun = emptyLedger();
