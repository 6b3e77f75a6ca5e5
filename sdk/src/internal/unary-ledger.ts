import type {
  AwaitReview,
  Observation,
  OperationRequest,
  Reconciliation,
} from "@pawl/proto/v1/operation_pb.js";
import type { Payload } from "@pawl/proto/v1/payload_pb.js";
import { NeedsReview } from "../call-errors.js";
import { PawlError, WaitTimedOut } from "../errors.js";
import { Backoff } from "./backoff.js";
import type { BlobSource } from "./load-payload.js";
import { loadPayload } from "./load-payload.js";
import type { Ledger, LookUpIds, TimedAnswer } from "./perform.js";
import type { Secrets } from "./secrets.js";
import { monotonicMs, wait } from "./time.js";
import { readCallFailure } from "./transport-error.js";
import { callUnary, type UnaryOptions } from "./unary.js";

/** What a ledger without a lease needs. */
export interface UnaryLedgerOptions {
  /** Where content that is stored apart is read. Its run id is empty in scope `namespace`. */
  readonly blobs: BlobSource;
  /** For this long in all the performance waits for others, for the kernel, and for a person. */
  readonly timeoutMs: number;
  /** What credentials are looked up by. */
  readonly secrets: Secrets;
}

/** The ledger over unary calls, for callers without a lease (scope `namespace`): the caller's key is the identity. */
export class UnaryLedger implements Ledger {
  readonly #options: UnaryLedgerOptions;
  readonly #unary: UnaryOptions;
  readonly #endsAtMs: number;
  readonly #reviewBackoff = new Backoff({ initialMs: 500, maxMs: 30_000 });

  constructor(options: UnaryLedgerOptions) {
    this.#options = options;
    this.#endsAtMs = monotonicMs() + options.timeoutMs;
    this.#unary = { ...options.blobs.unary, patienceMs: options.timeoutMs };
  }

  get secrets(): Secrets {
    return this.#options.secrets;
  }

  async intend(intentId: string, operation: OperationRequest): Promise<TimedAnswer> {
    const { api, namespace } = this.#options.blobs;
    let sentAtMs = 0;
    const response = await callUnary((options) => {
      sentAtMs = monotonicMs();
      return api.operations.intendOperation({ namespace, intentId, operation }, options);
    }, this.#unary);
    return timed(response.answer, sentAtMs);
  }

  async observe(key: string, intentId: string, observation: Observation): Promise<void> {
    const { api, namespace } = this.#options.blobs;
    // What happened must be recorded although the caller's time is over.
    const patient: UnaryOptions = {
      ...this.#unary,
      patienceMs: Math.max(60_000, this.#options.timeoutMs),
    };
    await callUnary(
      (options) =>
        api.operations.observeOperation({ namespace, key, intentId, observation }, options),
      patient,
    );
  }

  async observeLate(key: string, intentId: string, observation: Observation): Promise<boolean> {
    await this.observe(key, intentId, observation);
    return true;
  }

  async reconcile(
    key: string,
    ids: LookUpIds,
    reconciliation: Reconciliation,
  ): Promise<TimedAnswer> {
    const { api, namespace } = this.#options.blobs;
    let sentAtMs = 0;
    const response = await callUnary(async (options) => {
      sentAtMs = monotonicMs();
      const request = { namespace, key, ...ids, reconciliation };
      try {
        return await api.operations.reconcileOperation(request, options);
      } catch (cause) {
        // A finding that came too early is not sent again, but looked up anew.
        const { error } = readCallFailure(cause, this.#unary.url);
        throw error.code === "PAWL_TOO_EARLY" ? error : cause;
      }
    }, this.#unary);
    return timed(response.answer, sentAtMs);
  }

  wait(delayMs: number): Promise<void> {
    if (monotonicMs() + delayMs > this.#endsAtMs) {
      return Promise.reject(
        new WaitTimedOut(
          `Expected the operation to be settled within ${this.#options.timeoutMs} ms, but another ${Math.ceil(delayMs)} ms must pass first. Perform it again later: it goes on where it is.`,
        ),
      );
    }
    return wait(delayMs, this.#unary.signal);
  }

  awaitReview({ reviewId, key }: AwaitReview): Promise<void> {
    const delayMs = this.#reviewBackoff.nextMs();
    return monotonicMs() + delayMs > this.#endsAtMs
      ? Promise.reject(new NeedsReview(reviewId, key))
      : wait(delayMs, this.#unary.signal);
  }

  /** An operation that belongs to no run is never paused; should a kernel say so, it is worth asking again. */
  awaitResume(): Promise<void> {
    return this.wait(this.#reviewBackoff.nextMs());
  }

  assertMayAct(): Promise<void> {
    this.#unary.signal.throwIfAborted();
    return Promise.resolve();
  }

  load(payload: Payload | undefined, key: string): Promise<Payload | undefined> {
    return loadPayload(payload, this.#options.blobs, key);
  }
}

function timed(answer: TimedAnswer["answer"] | undefined, sentAtMs: number): TimedAnswer {
  if (answer === undefined) {
    throw new PawlError(
      "PAWL_UNKNOWN_ANSWER",
      "Expected an answer to the intent, but it is empty. Is the kernel newer than this SDK?",
    );
  }
  return { answer, sentAtMs };
}
