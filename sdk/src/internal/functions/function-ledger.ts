import type {
  AwaitReview,
  IntentAnswer,
  Observation,
  OperationRequest,
  Reconciliation,
} from "@pawl/proto/v1/operation_pb.js";
import type { Payload } from "@pawl/proto/v1/payload_pb.js";
import type { PerformOptions } from "../../context.js";
import type { Ledger, LookUpIds, TimedAnswer } from "../perform.js";
import type { Secrets } from "../secrets.js";
import type { Place } from "./place.js";

/** What a ledger of a function tells, besides what it records. */
export interface FunctionLedgerParts {
  /** Where the outcome stands among all that the function is given. */
  readonly place: Place;
  readonly scope: PerformOptions["scope"];
  /** Waits until a person has decided about one in doubt, while the rest of the function goes on. Undefined: nothing else of it may go on. */
  readonly awaitReview: ((reviewId: string) => Promise<void>) | undefined;
}

/**
 * A ledger that finds the place of an operation's outcome among all that a function is given. Until the kernel has said what there is to do, nothing else is
 * given: what it says must not race with what else was recorded.
 */
export class FunctionLedger implements Ledger {
  readonly #ledgerNow: () => Ledger;
  readonly #awaitReview: FunctionLedgerParts["awaitReview"];
  readonly #place: Place;
  /** An operation that belongs to no run tells nothing of the order in this one. */
  readonly #isOfRun: boolean;
  #isSettled = false;
  #isInReview = false;

  /** @param ledger The one below, which is another one when the function goes on under another lease. */
  constructor(ledger: () => Ledger, { place, scope, awaitReview }: FunctionLedgerParts) {
    this.#ledgerNow = ledger;
    this.#awaitReview = scope === "namespace" ? undefined : awaitReview;
    this.#place = place;
    this.#isOfRun = scope !== "namespace";
  }

  get #ledger(): Ledger {
    return this.#ledgerNow();
  }

  get secrets(): Secrets | undefined {
    return this.#ledger.secrets;
  }

  get #keepsLease(): boolean {
    return this.#awaitReview !== undefined;
  }

  /** True once there is an outcome that stays. */
  get isSettled(): boolean {
    return this.#isSettled;
  }

  async intend(intentId: string, request: OperationRequest): Promise<TimedAnswer> {
    this.#place.hold();
    return this.#take(await this.#ledger.intend(intentId, request, this.#keepsLease));
  }

  async observe(key: string, intentId: string, observation: Observation): Promise<void> {
    if (isSettling(observation)) {
      this.#isSettled = true;
      if (this.#isOfRun) this.#place.record();
    }
    await this.#ledger.observe(key, intentId, observation);
  }

  async observeLate(key: string, intentId: string, observation: Observation): Promise<boolean> {
    const isOutcome = isSettling(observation);
    // It stands where its record is sent; until it is known whether that is taken, nothing else is given.
    if (isOutcome && this.#isOfRun) this.#place.record();
    const isTaken = await this.#ledger.observeLate(key, intentId, observation);
    if (isOutcome && isTaken) {
      this.#isSettled = true;
      // The question is answered by it, and that is given like anything else.
      if (this.#isInReview) this.#place.release();
    } else if (isOutcome && this.#isOfRun && !this.#isSettled) {
      this.#place.notRecorded();
    }
    return isTaken;
  }

  async reconcile(
    key: string,
    ids: LookUpIds,
    reconciliation: Reconciliation,
  ): Promise<TimedAnswer> {
    this.#place.hold();
    return this.#take(await this.#ledger.reconcile(key, ids, reconciliation, this.#keepsLease));
  }

  #take(timed: TimedAnswer): TimedAnswer {
    const { answer }: IntentAnswer = timed.answer;
    if (answer.case !== "reuse") {
      this.#place.release();
      return timed;
    }
    this.#isSettled = true;
    if (this.#isOfRun) {
      const { seenThrough, number } = answer.value;
      this.#place.recordedAt(
        seenThrough === undefined
          ? { after: number, isOwn: false, number }
          : { after: seenThrough, isOwn: true, number },
      );
    }
    return timed;
  }

  wait(delayMs: number): Promise<void> {
    return this.#ledger.wait(delayMs);
  }

  async awaitReview(review: AwaitReview): Promise<void> {
    const wait = this.#awaitReview;
    if (!review.keepsLease || wait === undefined) return this.#ledger.awaitReview(review);
    this.#isInReview = true;
    try {
      await wait(review.reviewId);
    } finally {
      this.#isInReview = false;
    }
  }

  awaitResume(key: string): Promise<void> {
    return this.#ledger.awaitResume(key);
  }

  assertMayAct(): Promise<void> {
    return this.#ledger.assertMayAct();
  }

  load(payload: Payload | undefined, key: string): Promise<Payload | undefined> {
    return this.#ledger.load(payload, key);
  }
}

/** True for an outcome that stays. */
function isSettling({ outcome }: Observation): boolean {
  return outcome.case === "result" || outcome.case === "refused";
}
