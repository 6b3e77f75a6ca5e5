import { randomUUID } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import {
  AbsentSchema,
  type AwaitReview,
  type IntentAnswer,
  type LookUp,
  type Observation,
  ObservationSchema,
  type OperationRequest,
  type Proceed,
  type Reconciliation,
  ReconciliationSchema,
  type Reuse,
} from "@pawl/proto/v1/operation_pb.js";
import type { Payload } from "@pawl/proto/v1/payload_pb.js";
import { approvalErrorOf } from "../approval-errors.js";
import {
  NotSent,
  OperationAbandoned,
  OperationInDoubt,
  OutcomeUnknown,
  Refused,
} from "../call-errors.js";
import { PawlError, Rejected } from "../errors.js";
import type { Operation } from "../operation.js";
import { Backoff } from "./backoff.js";
import { type CallOutcome, callSink, lookUpSink, type RecordedCall } from "./call-sink.js";
import { decodePayload } from "./codec.js";
import { defer } from "./deferred.js";
import { fromFailure, toFailure } from "./failure.js";
import { HeldBack } from "./functions/held-back.js";
import { noSecrets, type Secrets } from "./secrets.js";
import { monotonicMs } from "./time.js";
import { attribute, noteReuse } from "./trace.js";
import { type CallTrace, type Origin, ownOrigin, traceCall } from "./trace-spans.js";

/** An answer, with the moment from which its call time counts. */
export interface TimedAnswer {
  readonly answer: IntentAnswer;
  /** When the intent was sent last, by the monotonic clock. */
  readonly sentAtMs: number;
}

/** Which call was looked up, and the id of the one that follows when its effect is absent. */
export interface LookUpIds {
  readonly intentId: string;
  readonly lookedUpIntentId: string;
}

/** The ledger as a performance needs it: under a lease, or without one. */
export interface Ledger {
  /** What credentials are looked up by. Absent: nobody knows any. */
  readonly secrets?: Secrets | undefined;
  /**
   * Records an intent. The same id is the same intent.
   *
   * @param keepsLease Whether the task goes on under its lease when a person must decide. Default false.
   */
  intend(intentId: string, request: OperationRequest, keepsLease?: boolean): Promise<TimedAnswer>;
  /** Records how a call ended. Resolves when whatever follows may rely on it. */
  observe(key: string, intentId: string, observation: Observation): Promise<void>;
  /** Records how a call ended that was over before. True once it is recorded; false when another call has begun meanwhile, which tells the outcome. */
  observeLate(key: string, intentId: string, observation: Observation): Promise<boolean>;
  /**
   * Records what a look-up found.
   * @throws PawlError PAWL_STALE_INTENT, PAWL_TOO_EARLY, PAWL_ILLEGAL_TRANSITION when it says nothing about the latest call.
   */
  reconcile(
    key: string,
    ids: LookUpIds,
    reconciliation: Reconciliation,
    keepsLease?: boolean,
  ): Promise<TimedAnswer>;
  /** Waits. Rejects when the performance is over meanwhile. */
  wait(delayMs: number): Promise<void>;
  /** A person must decide. Resolves when it is worth asking again; rejects when this performance does not wait for it. */
  awaitReview(review: AwaitReview): Promise<void>;
  /** The run is paused. Rejects: the performance goes on when the run does. */
  awaitResume(key: string): Promise<void>;
  /** Rejects when nothing may be done any more. Called before each call of the sink. */
  assertMayAct(): Promise<void>;
  /** Content of an operation that is stored apart. */
  load(payload: Payload | undefined, key: string): Promise<Payload | undefined>;
}

/** Most calls of the sink in one performance; after them the attempt's own retry goes on. */
const CALLS_MAX = 3;

/** Why a finding is refused that is about another call than the latest, or came before that one was over. */
const outdated: ReadonlySet<string> = new Set([
  "PAWL_STALE_INTENT",
  "PAWL_TOO_EARLY",
  "PAWL_ILLEGAL_TRANSITION",
]);

/** After how many ms an intent may be sent again that waits for the same effect of an earlier plan version; undefined: it was refused for something else. */
function predecessorMs(thrown: unknown): number | undefined {
  if (!(thrown instanceof Rejected)) return undefined;
  const { detail } = thrown.rejection;
  return detail.case === "predecessorUnsettled" ? detail.value.retryAfterMs : undefined;
}

/** A look-up may take this long, in ms. */
const LOOK_UP_MS = 30_000;

/** One performance of an operation, by the answers of the kernel and the policy of the sink. */
export class Performance {
  readonly #ledger: Ledger;
  readonly #operation: Operation;
  readonly #request: OperationRequest;
  readonly #origin: Origin;
  readonly #backoff = new Backoff({ initialMs: 200, maxMs: 5_000 });
  #intentId = randomUUID();
  #calls = 0;
  #lateStarts = 0;
  /** Resolves when the late outcome of a call is recorded: what was waited for is there. */
  #told = defer<true>();

  constructor(
    ledger: Ledger,
    operation: Operation,
    request: OperationRequest,
    origin: Origin = ownOrigin,
  ) {
    this.#ledger = ledger;
    this.#operation = operation;
    this.#request = request;
    this.#origin = origin;
  }

  /** Runs it to the recorded result. Throws what is recorded instead of one. */
  async run(): Promise<unknown> {
    let timed = await this.#intend();
    for (;;) {
      const { answer } = timed.answer;
      switch (answer.case) {
        case "reuse":
          return this.#reuse(answer.value);
        case "proceed": {
          const outcome = await this.#proceed(answer.value, timed.sentAtMs);
          if (outcome !== undefined) return this.#conclude(outcome);
          timed = await this.#intend();
          break;
        }
        case "lookUp":
          timed = await this.#lookUp(answer.value);
          break;
        case "wait":
          await this.#pause(answer.value.notBeforeMs);
          timed = await this.#intend();
          break;
        case "review":
          await this.#ledger.awaitReview(answer.value);
          timed = await this.#intend();
          break;
        case "paused":
          await this.#ledger.awaitResume(answer.value.key);
          timed = await this.#intend();
          break;
        case "heldBack":
          throw new HeldBack(answer.value.key);
        case "awaiting": {
          const { status, proposalId, reason, key } = answer.value;
          throw approvalErrorOf(status, { proposalId, reason, operationKey: key });
        }
        default:
          throw new PawlError(
            "PAWL_UNKNOWN_ANSWER",
            "Expected an answer to the intent that this SDK knows, but the kernel is newer. Update @pawl/sdk.",
          );
      }
    }
  }

  /** Waits so long, or until a late outcome is recorded. True when one is. */
  async #pause(delayMs: number): Promise<boolean> {
    const waiting = this.#ledger.wait(delayMs).then(() => false);
    waiting.catch(() => undefined); // It may be over after nobody waits for it any more.
    const isTold = await Promise.race([waiting, this.#told.promise]);
    if (isTold) this.#told = defer();
    return isTold;
  }

  async #observeLate(key: string, intentId: string, late: CallOutcome): Promise<void> {
    if (late.case === "unknown") return;
    const isTaken = await this.#ledger.observeLate(key, intentId, toObservation(late));
    if (isTaken) this.#told.resolve(true);
  }

  /** The same effect of an earlier plan version is settled first: the intent waits for that, as it would for a call of its own. */
  async #intend(): Promise<TimedAnswer> {
    for (;;) {
      try {
        return await this.#ledger.intend(this.#intentId, this.#request);
      } catch (thrown) {
        const waitMs = predecessorMs(thrown);
        if (waitMs === undefined) throw thrown;
        await this.#ledger.wait(waitMs);
      }
    }
  }

  /** Calls the sink. Undefined when another intent must come first. */
  async #proceed(proceed: Proceed, sentAtMs: number): Promise<CallOutcome | undefined> {
    const deadlineMs = sentAtMs + proceed.callMs;
    const { key, uuid } = proceed;
    const payload = await this.#ledger.load(proceed.payload, key);
    await this.#ledger.assertMayAct();
    if (monotonicMs() >= deadlineMs) {
      // Too late to begin: others may act from then on. It provably never left, so the next intent has no doubt.
      const late = new NotSent(
        "The call was not started: its time was over before it could begin.",
      );
      await this.#observe(key, { case: "notSent", failure: toFailure(late).failure, error: late });
      if (++this.#lateStarts >= CALLS_MAX) throw late;
      this.#intentId = randomUUID();
      return undefined;
    }
    this.#calls++;
    const trace = this.#traceCall("pawl.call", key);
    const { target } = this.#request;
    const { secrets = noSecrets } = this.#ledger;
    const recorded: RecordedCall = { key, uuid, payload, deadlineMs, target, trace, secrets };
    const intentId = this.#intentId;
    const outcome = await callSink(this.#operation, recorded, (late) => {
      void this.#observeLate(key, intentId, late).catch(() => undefined);
    });
    trace.end(outcome.case, "error" in outcome ? outcome.error : undefined);
    await this.#observe(key, outcome);
    if (outcome.case !== "unknown") return outcome;
    if (this.#calls >= CALLS_MAX || outcome.isHopeless) {
      throw new OperationInDoubt(key, this.#calls, outcome.error);
    }
    const askedMs = outcome.error instanceof OutcomeUnknown ? (outcome.error.retryAfterMs ?? 0) : 0;
    await this.#pause(Math.max(askedMs, this.#backoff.nextMs()));
    this.#intentId = randomUUID();
    return undefined;
  }

  async #observe(key: string, outcome: CallOutcome): Promise<void> {
    await this.#ledger.observe(key, this.#intentId, toObservation(outcome));
  }

  /** What the code gets is decoded from what was recorded, also the first time. */
  #conclude(outcome: CallOutcome): unknown {
    switch (outcome.case) {
      case "result":
        return decodePayload(outcome.payload, "the recorded result");
      case "refused":
        throw refusedFrom(outcome.failure);
      default:
        throw outcome.error;
    }
  }

  #traceCall(name: "pawl.call" | "pawl.look_up", key: string): CallTrace {
    const { proposalId = "" } = this.#request;
    return traceCall(name, { operation: this.#operation.name, key, proposalId }, this.#origin);
  }

  async #reuse(reuse: Reuse): Promise<unknown> {
    noteReuse("pawl.operation.reused", { [attribute.operationKey]: reuse.key });
    const { outcome } = reuse;
    switch (outcome.case) {
      case "refusal":
        throw refusedFrom(outcome.value);
      case "abandoned":
        throw new OperationAbandoned(reuse.key, fromFailure(outcome.value));
      case "result":
        return decodePayload(
          await this.#ledger.load(outcome.value, reuse.key),
          "the recorded result",
        );
      default:
        return undefined;
    }
  }

  async #lookUp(lookUp: LookUp): Promise<TimedAnswer> {
    if (await this.#pause(lookUp.notBeforeMs)) return this.#intend();
    await this.#ledger.assertMayAct();
    const trace = this.#traceCall("pawl.look_up", lookUp.key);
    const found = await lookUpSink(this.#operation, {
      key: lookUp.key,
      uuid: lookUp.uuid,
      target: this.#request.target,
      payload: await this.#ledger.load(lookUp.payload, lookUp.key),
      deadlineMs: monotonicMs() + LOOK_UP_MS,
      trace,
      secrets: this.#ledger.secrets ?? noSecrets,
    });
    trace.end(found === "absent" ? found : found.case);
    this.#intentId = randomUUID();
    const ids = { intentId: this.#intentId, lookedUpIntentId: lookUp.intentId };
    try {
      return await this.#ledger.reconcile(lookUp.key, ids, toReconciliation(found));
    } catch (error) {
      if (error instanceof PawlError && outdated.has(error.code)) {
        // Another caller was faster, or the clocks differ a little: what was found says nothing any more.
        return await this.#intend();
      }
      throw error;
    }
  }
}

function toObservation(outcome: CallOutcome): Observation {
  switch (outcome.case) {
    case "result":
      return create(ObservationSchema, { outcome: { case: "result", value: outcome.payload } });
    case "refused":
      return create(ObservationSchema, { outcome: { case: "refused", value: outcome.failure } });
    case "notSent":
      return create(ObservationSchema, { outcome: { case: "notSent", value: outcome.failure } });
    case "unknown":
      return create(ObservationSchema, { outcome: { case: "unknown", value: outcome.failure } });
  }
}

function toReconciliation(found: CallOutcome | "absent"): Reconciliation {
  if (found === "absent") {
    return create(ReconciliationSchema, {
      finding: { case: "absent", value: create(AbsentSchema) },
    });
  }
  if (found.case === "result") {
    return create(ReconciliationSchema, { finding: { case: "found", value: found.payload } });
  }
  return create(ReconciliationSchema, { finding: { case: "unknown", value: found.failure } });
}

/** The refusal as it was thrown the first time: the same at every execution. */
function refusedFrom(failure: Parameters<typeof fromFailure>[0]): Refused {
  const { message, code, data } = fromFailure(failure);
  return new Refused(message, { data, ...(code === "PAWL_REFUSED" ? {} : { sinkCode: code }) });
}
