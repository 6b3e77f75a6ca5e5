import type { Observation, OperationRequest, Reconciliation } from "@pawl/proto/v1/operation_pb.js";
import type { Payload } from "@pawl/proto/v1/payload_pb.js";
import type { Ledger, LookUpIds, TimedAnswer } from "../perform.js";
import type { Turns } from "./turns.js";

/** A ledger whose answers stand between what a function is given: what the kernel says of an operation must not race with what else it has recorded. */
export class FunctionLedger implements Ledger {
  readonly #ledger: Ledger;
  readonly #turns: Turns;

  constructor(ledger: Ledger, turns: Turns) {
    this.#ledger = ledger;
    this.#turns = turns;
  }

  intend(intentId: string, request: OperationRequest): Promise<TimedAnswer> {
    return this.#turns.blocking(() => this.#ledger.intend(intentId, request));
  }

  observe(key: string, intentId: string, observation: Observation): Promise<void> {
    return this.#ledger.observe(key, intentId, observation);
  }

  reconcile(key: string, ids: LookUpIds, reconciliation: Reconciliation): Promise<TimedAnswer> {
    return this.#turns.blocking(() => this.#ledger.reconcile(key, ids, reconciliation));
  }

  wait(delayMs: number): Promise<void> {
    return this.#ledger.wait(delayMs);
  }

  awaitReview(reviewId: string, key: string): Promise<void> {
    return this.#ledger.awaitReview(reviewId, key);
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
