import { create } from "@bufbuild/protobuf";
import type {
  AwaitReview,
  Observation,
  OperationRequest,
  Reconciliation,
} from "@pawl/proto/v1/operation_pb.js";
import type { Payload } from "@pawl/proto/v1/payload_pb.js";
import {
  IntentItemSchema,
  ObservationItemSchema,
  ReconciliationItemSchema,
} from "@pawl/proto/v1/worker_service_pb.js";
import { AwaitingReview, RunPaused } from "../abort-reasons.js";
import { PawlError } from "../errors.js";
import type { AttemptState } from "./attempt-state.js";
import { payloadBytes } from "./codec.js";
import type { Lease } from "./lease.js";
import type { Ledger, LookUpIds, TimedAnswer } from "./perform.js";
import { attemptEnd, errorFromRejection, isAttemptOver } from "./rejection.js";
import type { Secrets } from "./secrets.js";
import { monotonicMs, wait } from "./time.js";
import type { ItemAnswer } from "./work-item.js";
import type { WorkStream } from "./work-stream.js";

/** Room that an item may take besides its content, in bytes: names, key and target at their longest. */
const ITEM_BYTES = 2_000;

/** What a ledger under a lease needs. */
export interface LeaseLedgerOptions {
  readonly lease: Lease;
  readonly state: AttemptState;
  readonly stream: WorkStream;
  /** Asks the kernel whether the lease still holds. Rejects when it does not. */
  readonly verify: () => Promise<void>;
  readonly load: (payload: Payload | undefined) => Promise<Payload | undefined>;
  /** Gives the task back; resolves when the kernel knows. */
  readonly release: (reason: string) => Promise<void>;
}

/** How a call of an operation ended. */
interface Observed {
  readonly key: string;
  readonly intentId: string;
  readonly observation: Observation;
}

/** The ledger on a worker's stream. Observations leave at once and are not waited for: the stream's order keeps them before what follows. */
export class LeaseLedger implements Ledger {
  readonly #options: LeaseLedgerOptions;

  constructor(options: LeaseLedgerOptions) {
    this.#options = options;
  }

  get secrets(): Secrets {
    return this.#options.state.secrets;
  }

  async intend(
    intentId: string,
    operation: OperationRequest,
    keepsLease = false,
  ): Promise<TimedAnswer> {
    const { lease, stream, state } = this.#options;
    const { seenThrough } = state;
    const { handle, leaseVersion } = lease;
    const answer = await new Promise<ItemAnswer>((resolve) => {
      stream.send(
        lease,
        ITEM_BYTES + payloadBytes(operation.payload),
        (correlation) => ({
          kind: "intent",
          message: create(IntentItemSchema, {
            handle,
            leaseVersion,
            correlation,
            intentId,
            operation,
            seenThrough,
            keepsLease,
          }),
        }),
        resolve,
      );
    });
    return this.#timed(answer);
  }

  observe(key: string, intentId: string, observation: Observation): Promise<void> {
    this.#observe({ key, intentId, observation }, (answer) => this.#observed(answer));
    return Promise.resolve();
  }

  observeLate(key: string, intentId: string, observation: Observation): Promise<boolean> {
    return new Promise((resolve) => {
      this.#observe({ key, intentId, observation }, (answer) => {
        const isStale = answer.rejection?.reason === "PAWL_STALE_INTENT";
        if (!isStale) this.#observed(answer);
        resolve(answer.rejection === undefined);
      });
    });
  }

  #observe({ key, intentId, observation }: Observed, settle: (answer: ItemAnswer) => void): void {
    const { lease, stream, state } = this.#options;
    const { leaseVersion } = lease;
    const { seenThrough } = state;
    const content =
      observation.outcome.case === "result" ? payloadBytes(observation.outcome.value) : 16_384;
    const named = lease.isOver ? { handle: 0, runId: lease.runId } : { handle: lease.handle };
    stream.send(
      lease,
      ITEM_BYTES + content,
      (correlation) => ({
        kind: "observation",
        message: create(ObservationItemSchema, {
          ...named,
          leaseVersion,
          correlation,
          intentId,
          key,
          observation,
          seenThrough,
        }),
      }),
      settle,
    );
  }

  /** The kernel takes an observation whatever became of the lease; what it does refuse must not pass unseen. */
  #observed(answer: ItemAnswer): void {
    if (answer.rejection !== undefined && !isAttemptOver(answer.rejection)) {
      this.#options.state.poisonWith(errorFromRejection(answer.rejection));
    }
  }

  async reconcile(
    key: string,
    ids: LookUpIds,
    reconciliation: Reconciliation,
    keepsLease = false,
  ): Promise<TimedAnswer> {
    return this.#timed(await this.#reconcileOnce(key, ids, reconciliation, keepsLease));
  }

  #reconcileOnce(
    key: string,
    ids: LookUpIds,
    reconciliation: Reconciliation,
    keepsLease: boolean,
  ): Promise<ItemAnswer> {
    const { lease, stream } = this.#options;
    const { handle, leaseVersion } = lease;
    const { finding } = reconciliation;
    const content = finding.case === "found" ? payloadBytes(finding.value) : 16_384;
    return new Promise((resolve) => {
      stream.send(
        lease,
        ITEM_BYTES + content,
        (correlation) => ({
          kind: "reconciliation",
          message: create(ReconciliationItemSchema, {
            handle,
            leaseVersion,
            correlation,
            key,
            ...ids,
            reconciliation,
            keepsLease,
          }),
        }),
        resolve,
      );
    });
  }

  wait(delayMs: number): Promise<void> {
    return wait(delayMs, this.#options.state.signal);
  }

  awaitReview({ reviewId, key }: AwaitReview): Promise<void> {
    const { lease, state } = this.#options;
    const reason = new AwaitingReview(reviewId, key);
    lease.isOver = true;
    state.end(reason);
    return Promise.reject(reason);
  }

  async awaitResume(): Promise<void> {
    const { lease, state, release } = this.#options;
    const reason = new RunPaused();
    state.end(reason);
    // The lease counts until the kernel has it back: were the stream lost before, a new one would name and return it.
    await release("The run is paused.");
    lease.isOver = true;
    throw reason;
  }

  async assertMayAct(): Promise<void> {
    const { lease, state, verify } = this.#options;
    state.assertUsable("an operation");
    // A handler that blocked its event loop past its lease learns it here, before its next effect.
    if (lease.isExpired(monotonicMs())) {
      await verify();
      state.assertUsable("an operation");
    }
  }

  load(payload: Payload | undefined): Promise<Payload | undefined> {
    return this.#options.load(payload);
  }

  #timed(answer: ItemAnswer): TimedAnswer {
    const { lease, state } = this.#options;
    if (answer.rejection !== undefined) {
      if (!isAttemptOver(answer.rejection)) {
        throw errorFromRejection(answer.rejection);
      }
      const ended = attemptEnd(answer.rejection);
      lease.isOver = true;
      state.end(ended);
      throw ended;
    }
    if (answer.intent === undefined) {
      throw new PawlError(
        "PAWL_UNKNOWN_ANSWER",
        "Expected an answer to the intent, but it is empty. Is the kernel newer than this SDK?",
      );
    }
    return { answer: answer.intent, sentAtMs: answer.sentAtMs };
  }
}
