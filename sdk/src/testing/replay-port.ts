import { AsyncLocalStorage } from "node:async_hooks";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import {
  type ProposeActionRequest,
  ProposeActionRequestSchema,
} from "@pawl/proto/v1/approval_service_pb.js";
import type { OperationRequest } from "@pawl/proto/v1/operation_pb.js";
import type { Payload } from "@pawl/proto/v1/payload_pb.js";
import { type Rejection, RejectionSchema } from "@pawl/proto/v1/rejection_pb.js";
import {
  CallItemSchema,
  type ChildItem,
  ChildItemSchema,
  IntentItemSchema,
  ItemResultSchema,
  type ObligationItem,
  ObligationItemSchema,
  type TaskWait,
  WaitItemSchema,
} from "@pawl/proto/v1/worker_service_pb.js";
import type { AttemptPort, CallOrders, StepFrame, StepToRecord } from "../internal/attempt-port.js";
import { never } from "../internal/attempt-state.js";
import { HeldBack } from "../internal/functions/held-back.js";
import type { Lease } from "../internal/lease.js";
import type { Ledger, TimedAnswer } from "../internal/perform.js";
import { errorFromRejection } from "../internal/rejection.js";
import type { ItemAnswer } from "../internal/work-item.js";
import type { ReplayedHistory } from "../open-kernel.js";
import { TestKitMisused } from "./errors.js";

/** Answers a function from a history. Nothing leaves the process. */
export class ReplayPort implements AttemptPort {
  readonly #history: ReplayedHistory;
  readonly #steps = new AsyncLocalStorage<StepFrame>();

  constructor(history: ReplayedHistory) {
    this.#history = history;
  }

  recordStep(
    _lease: Lease,
    _step: StepToRecord,
    _seenThrough: number,
    settle: (answer: ItemAnswer) => void,
  ): void {
    queueMicrotask(() => settle(taken));
  }

  soon(run: () => void): void {
    setImmediate(run);
  }

  async tellRun(lease: Lease, item: ObligationItem, seenThrough: number): Promise<ItemAnswer> {
    const message = Object.assign(item, named(lease), { seenThrough });
    return this.#answer("obligation", toBinary(ObligationItemSchema, message));
  }

  async startChild(lease: Lease, item: ChildItem, seenThrough: number): Promise<ItemAnswer> {
    const message = Object.assign(item, named(lease), { seenThrough });
    return this.#answer("child", toBinary(ChildItemSchema, message));
  }

  /** What begins the next incarnation is not asked again. */
  continueRun(): Promise<ItemAnswer> {
    return never();
  }

  async call(lease: Lease, orders: CallOrders): Promise<ItemAnswer> {
    const message = create(CallItemSchema, { ...named(lease), ...orders });
    return this.#answer("call", toBinary(CallItemSchema, message));
  }

  async declareWaits(lease: Lease, waits: TaskWait[]): Promise<ItemAnswer> {
    const message = create(WaitItemSchema, { ...named(lease), waits });
    return this.#answer("wait", toBinary(WaitItemSchema, message));
  }

  /** A revision that is not recorded is one that the history does not come to. */
  proposeRevision(): Promise<number> {
    return never();
  }

  async propose(_lease: Lease, request: ProposeActionRequest): Promise<string> {
    try {
      return this.#history.propose(toBinary(ProposeActionRequestSchema, request));
    } catch (error) {
      throw refusalOf(error);
    }
  }

  load(payload: Payload | undefined): Promise<Payload | undefined> {
    if (payload?.body.case === "blob") {
      throw new TestKitMisused(
        "Expected a history that holds all content, but some of it is stored apart, since it is large. Such a history cannot be replayed from a file.",
      );
    }
    return Promise.resolve(payload);
  }

  progress(): void {
    // It was told before.
  }

  emit(): void {
    // It was shown before.
  }

  /** What is done in scope `namespace` stands in no run's history. */
  namespaceLedger(): Ledger {
    return new ReplayLedger(undefined);
  }

  currentStep(): StepFrame | undefined {
    return this.#steps.getStore();
  }

  insideStep<T>(frame: StepFrame, run: () => T): T {
    return this.#steps.run(frame, run);
  }

  /** The ledger of the run's own operations. */
  ledger(lease: Lease): Ledger {
    return new ReplayLedger((intentId, operation) => {
      const message = create(IntentItemSchema, { ...named(lease), intentId, operation });
      return this.#answer("intent", toBinary(IntentItemSchema, message));
    });
  }

  #answer(kind: Parameters<ReplayedHistory["answer"]>[0], item: Uint8Array): ItemAnswer {
    const result = fromBinary(ItemResultSchema, this.#history.answer(kind, item));
    const { rejection, intent, obligation } = result;
    return { ...taken, rejection, intent, obligation };
  }
}

/** The ledger of a replay: it gives what is recorded, and holds back everything else. */
class ReplayLedger implements Ledger {
  readonly #ask: ((intentId: string, request: OperationRequest) => ItemAnswer) | undefined;

  constructor(ask: ((intentId: string, request: OperationRequest) => ItemAnswer) | undefined) {
    this.#ask = ask;
  }

  async intend(intentId: string, request: OperationRequest): Promise<TimedAnswer> {
    const answer = this.#ask?.(intentId, request);
    if (answer === undefined) throw new HeldBack(request.name);
    if (answer.rejection !== undefined) throw errorFromRejection(answer.rejection);
    if (answer.intent === undefined) throw new HeldBack(request.name);
    return { answer: answer.intent, sentAtMs: 0 };
  }

  async observe(): Promise<void> {
    // Nothing is called, so nothing is observed.
  }

  async observeLate(): Promise<boolean> {
    return false;
  }

  reconcile(): Promise<TimedAnswer> {
    return never();
  }

  wait(): Promise<void> {
    return never();
  }

  awaitReview(): Promise<void> {
    return never();
  }

  awaitResume(): Promise<void> {
    return never();
  }

  async assertMayAct(): Promise<void> {
    throw new HeldBack("");
  }

  load(payload: Payload | undefined): Promise<Payload | undefined> {
    return Promise.resolve(payload);
  }
}

const taken: ItemAnswer = {
  existing: true,
  rejection: undefined,
  intent: undefined,
  step: undefined,
  sentAtMs: 0,
};

function named({ leaseVersion }: Lease): {
  readonly handle: number;
  readonly leaseVersion: number;
  readonly correlation: number;
} {
  return { handle: 1, leaseVersion, correlation: 1 };
}

/** What the server refuses carries its refusal; it comes as a worker would get it. */
function refusalOf(error: unknown): unknown {
  const refusal: unknown = error instanceof Error ? Reflect.get(error, "rejection") : undefined;
  if (!isRefusal(refusal)) return error;
  const { reason, message } = refusal;
  const rejection: Rejection = create(RejectionSchema, { reason, message });
  return errorFromRejection(rejection);
}

function isRefusal(value: unknown): value is { reason: string; message: string } {
  return (
    typeof value === "object" &&
    value !== null &&
    typeof Reflect.get(value, "reason") === "string" &&
    typeof Reflect.get(value, "message") === "string"
  );
}
