import type { FailureShape } from "@pawl/proto/v1/failure_wire.js";
import { ProposalStatus } from "@pawl/proto/v1/proposal_status_pb.js";
import type { Finding, ObservedOutcome } from "@pawl/server/core/command.js";
import { failure, payload } from "../../core/support/values.js";
import type { IntentAnswer } from "./answers.js";
import type { Timed, World } from "./caller.js";
import { textOf } from "./contents.js";
import type { OperationSpec } from "./plans.js";
import type { Process } from "./process.js";
import type { CallEnd, Effect, Sinks } from "./sinks.js";

/** The attempt, or the whole performance, is over: nothing more is done. */
export class Stopped extends Error {}

/** Why a finding is refused that is about another call than the latest, or came before that one was over. */
export const outdated: ReadonlySet<string> = new Set([
  "PAWL_STALE_INTENT",
  "PAWL_TOO_EARLY",
  "PAWL_ILLEGAL_TRANSITION",
]);

/** A finding was refused for one of those reasons. */
export class Outdated extends Stopped {}

/** The ledger as a performance needs it: under a lease, or without one. */
export interface Ledger {
  intend(intentId: string): Promise<Timed<IntentAnswer>>;
  observe(key: string, intentId: string, outcome: ObservedOutcome): Promise<void>;
  reconcile(
    key: string,
    ids: { readonly intentId: string; readonly lookedUpIntentId: string },
    finding: Finding,
  ): Promise<Timed<IntentAnswer>>;
  /** A person must decide. Resolves when it is worth asking again. @throws Stopped */
  awaitReview(): Promise<void>;
  /** The run is paused. Resolves when it is worth asking again. @throws Stopped */
  awaitResume(): Promise<void>;
  /** @throws Stopped when nothing may be done any more. */
  requireMayAct(): void;
}

/** What a performance needs besides. */
export interface PerformParts {
  readonly world: World;
  readonly process: Process;
  readonly sinks: Sinks;
  readonly operation: OperationSpec;
  readonly newIntentId: () => string;
  /** How long after its deadline a call may take effect: less than what the kernel was told. */
  readonly settleMs: number;
  /** A planted fault: the caller heeds no deadline. */
  readonly ignoresDeadline: boolean;
}

/** How an operation came out: its recorded result, or `no`. */
export type Performed = string;

const callsMax = 3;

/** One performance of an operation, by the protocol that the SDK's `perform` follows. @throws Stopped */
export class Performance {
  readonly #parts: PerformParts;
  readonly #ledger: Ledger;
  #intentId: string;
  #calls = 0;

  constructor(parts: PerformParts, ledger: Ledger) {
    this.#parts = parts;
    this.#ledger = ledger;
    this.#intentId = parts.newIntentId();
  }

  /** Runs it to the recorded result. */
  async run(): Promise<Performed> {
    let timed = await this.#ledger.intend(this.#intentId);
    for (;;) {
      const answer = timed.value;
      switch (answer.case) {
        case "reuse":
          return answer.isNo ? "no" : textOf(answer.result);
        case "proceed": {
          const result = await this.#proceed(answer, timed.sentAtMs);
          if (result !== undefined) {
            return result;
          }
          timed = await this.#ledger.intend(this.#intentId);
          break;
        }
        case "lookUp":
          timed = await this.#lookUp(answer);
          break;
        case "wait":
          await this.#parts.process.wait(answer.notBeforeMs);
          timed = await this.#ledger.intend(this.#intentId);
          break;
        case "review":
          await this.#ledger.awaitReview();
          timed = await this.#ledger.intend(this.#intentId);
          break;
        case "paused":
          await this.#ledger.awaitResume();
          timed = await this.#ledger.intend(this.#intentId);
          break;
        case "heldBack":
          throw new Stopped("what was done is rolled back");
        case "awaiting":
          if (answer.status !== ProposalStatus.PENDING) {
            throw new Stopped(`its proposal is ${answer.status}`);
          }
          await this.#ledger.awaitReview();
          timed = await this.#ledger.intend(this.#intentId);
      }
    }
  }

  async #proceed(
    { key, callMs }: Extract<IntentAnswer, { case: "proceed" }>,
    sentAtMs: number,
  ): Promise<Performed | undefined> {
    const { world, process, ignoresDeadline, newIntentId } = this.#parts;
    const deadlineMs = sentAtMs + callMs;
    const intentId = this.#intentId;
    this.#ledger.requireMayAct();
    if (world.nowMs() >= deadlineMs && !ignoresDeadline) {
      await this.#ledger.observe(key, intentId, { case: "notSent", value: said("too late") });
      this.#intentId = newIntentId();
      return undefined;
    }
    const end = await this.#call(key, ignoresDeadline ? world.nowMs() + callMs : deadlineMs);
    await this.#ledger.observe(key, intentId, observationOf(end));
    if (end.case === "result") {
      return textOf(payload({ receipt: end.receipt }));
    }
    if (end.case === "refused") {
      return "no";
    }
    this.#calls++;
    if (this.#calls >= callsMax) {
      throw new Stopped("the outcome stays unknown");
    }
    await process.wait(world.prng.around(300));
    this.#intentId = newIntentId();
    return undefined;
  }

  /** The call is over at its deadline, whatever becomes of it; what is heard later is told all the same. */
  #call(key: string, deadlineMs: number): Promise<CallEnd> {
    const { world, process, sinks, operation, settleMs } = this.#parts;
    const intentId = this.#intentId;
    const enter = process.entry();
    return new Promise((resolve) => {
      let isOver = false;
      process.after(deadlineMs - world.nowMs(), () => {
        isOver = true;
        resolve({ case: "lost" });
      });
      const { kind, keyWindowMs: windowMs } = operation;
      world.note(`${process.name} calls the sink of ${key} with ${intentId}`);
      sinks.call({ kind, key, intentId, deadlineMs, settleMs, windowMs }, (end) =>
        enter(() => {
          if (isOver && end.case !== "lost") {
            this.#ledger.observe(key, intentId, observationOf(end)).catch(ignoreStopped);
          }
          resolve(end);
        }),
      );
    });
  }

  async #lookUp(answer: Extract<IntentAnswer, { case: "lookUp" }>): Promise<Timed<IntentAnswer>> {
    const { process, sinks, newIntentId, world } = this.#parts;
    await process.wait(answer.notBeforeMs);
    this.#ledger.requireMayAct();
    const enter = process.entry();
    const found = await new Promise<Effect | "absent" | "unknown">((resolve) => {
      sinks.lookUp(answer.key, (seen) => enter(() => resolve(seen)));
    });
    this.#intentId = newIntentId();
    const ids = { intentId: this.#intentId, lookedUpIntentId: answer.intentId };
    const what = typeof found === "string" ? found : found.receipt;
    world.note(`${process.name} looked up ${answer.key}: ${what}`);
    try {
      return await this.#ledger.reconcile(answer.key, ids, findingOf(found));
    } catch (error) {
      if (error instanceof Outdated) {
        return await this.#ledger.intend(this.#intentId);
      }
      throw error;
    }
  }
}

function ignoreStopped(error: unknown): void {
  if (!(error instanceof Stopped)) {
    throw error;
  }
}

function said(message: string): FailureShape {
  return failure({ message });
}

function observationOf(end: CallEnd): ObservedOutcome {
  switch (end.case) {
    case "result":
      return { case: "result", value: payload({ receipt: end.receipt }) };
    case "refused":
      return { case: "refused", value: said("no") };
    case "notSent":
      return { case: "notSent", value: said("not sent") };
    case "lost":
      return { case: "unknown", value: said("lost") };
  }
}

function findingOf(found: Effect | "absent" | "unknown"): Finding {
  if (found === "absent") {
    return { case: "absent" };
  }
  return found === "unknown"
    ? { case: "unknown", value: said("could not tell") }
    : { case: "found", value: payload({ receipt: found.receipt }) };
}
