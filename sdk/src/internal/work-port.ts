import { AsyncLocalStorage } from "node:async_hooks";
import { create } from "@bufbuild/protobuf";
import {
  type ProposeActionRequest,
  ProposeActionRequestSchema,
} from "@pawl/proto/v1/approval_service_pb.js";
import {
  type OperationHolder,
  OperationHolderSchema,
} from "@pawl/proto/v1/operation_service_pb.js";
import type { Payload } from "@pawl/proto/v1/payload_pb.js";
import {
  CallItemSchema,
  type ChildItem,
  ContinueAsNewSchema,
  type EmitItem,
  type ObligationItem,
  ProgressItemSchema,
  ReportItemSchema,
  StepItemSchema,
  type TaskWait,
  WaitItemSchema,
} from "@pawl/proto/v1/worker_service_pb.js";
import type { Records } from "./attempt.js";
import type {
  AttemptPort,
  CallOrders,
  RevisionToRecord,
  StepFrame,
  StepToRecord,
} from "./attempt-port.js";
import type { ClientCore } from "./client-core.js";
import { payloadBytes } from "./codec.js";
import type { Lease } from "./lease.js";
import { type BlobSource, loadPayload } from "./load-payload.js";
import type { Ledger } from "./perform.js";
import type { Secrets } from "./secrets.js";
import { waitBytes } from "./send-end.js";
import { callUnary } from "./unary.js";
import { UnaryLedger } from "./unary-ledger.js";
import { encodePlanOnce } from "./wire-messages.js";
import type { ItemAnswer, ItemBody } from "./work-item.js";
import type { WorkStream } from "./work-stream.js";

/** A performance in scope `namespace` inside a task waits this long for others and for a person, in ms. */
const NAMESPACE_WAIT_MS = 120_000;

/** What attempts need of their worker, on its stream and by unary calls. */
export class WorkPort implements AttemptPort {
  readonly #core: ClientCore;
  readonly #stream: WorkStream;
  readonly #secrets: Secrets;
  readonly #steps = new AsyncLocalStorage<StepFrame>();
  #soon: (() => void)[] = [];

  constructor(core: ClientCore, stream: WorkStream, secrets: Secrets) {
    this.#core = core;
    this.#secrets = secrets;
    this.#stream = stream;
  }

  recordStep(
    lease: Lease,
    step: StepToRecord,
    seenThrough: number,
    settle: (answer: ItemAnswer) => void,
  ): void {
    const { name, key, outcome, isRead, rollback, publishes, answers } = step;
    const bytes = 500 + ("value" in outcome ? payloadBytes(outcome.value) : 16_384);
    const make = (correlation: number): ItemBody => ({
      kind: "step",
      message: {
        $typeName: StepItemSchema.typeName,
        handle: lease.handle,
        leaseVersion: lease.leaseVersion,
        correlation,
        name,
        ...(key === undefined ? {} : { key }),
        seenThrough,
        read: isRead,
        ...(rollback === undefined ? {} : { rollback }),
        ...(publishes === undefined ? {} : { publishes }),
        ...(answers === undefined ? {} : { answers }),
        outcome:
          "value" in outcome
            ? { case: "value", value: outcome.value }
            : { case: "failure", value: outcome.failure },
      },
    });
    this.#stream.send(lease, bytes, make, settle);
  }

  tellRun(lease: Lease, item: ObligationItem, seenThrough: number): Promise<ItemAnswer> {
    const { order } = item;
    const content = order.case === "signal" ? payloadBytes(order.value.payload) : 1_000;
    return new Promise((resolve) => {
      const make = (correlation: number): ItemBody => {
        const { handle, leaseVersion } = lease;
        const sent = { handle, leaseVersion, correlation, seenThrough };
        return { kind: "obligation", message: Object.assign(item, sent) };
      };
      this.#stream.send(lease, 500 + content, make, resolve);
    });
  }

  startChild(lease: Lease, item: ChildItem, seenThrough: number): Promise<ItemAnswer> {
    const { handle, leaseVersion } = lease;
    const plan = item.plan === undefined ? 0 : encodePlanOnce(item.plan).length;
    return this.#send(lease, 500 + plan + payloadBytes(item.input), (correlation) => ({
      kind: "child",
      message: Object.assign(item, { handle, leaseVersion, correlation, seenThrough }),
    }));
  }

  continueRun(lease: Lease, input: Payload | undefined, seenThrough: number): Promise<ItemAnswer> {
    const { handle, leaseVersion } = lease;
    return this.#send(lease, 100 + payloadBytes(input), (correlation) => {
      const content = input === undefined ? {} : { input };
      const value = create(ContinueAsNewSchema, { ...content, seenThrough });
      const outcome = { case: "continueAsNew", value } as const;
      const parts = { handle, leaseVersion, correlation, outcome };
      return { kind: "report", message: create(ReportItemSchema, parts) };
    });
  }

  call(
    lease: Lease,
    { tasks = [], cancels = [], stops = [], abandons = [] }: CallOrders,
  ): Promise<ItemAnswer> {
    const { handle, leaseVersion } = lease;
    const bytes =
      tasks.reduce((sum, task) => sum + 1_000 + payloadBytes(task.input), 200) +
      200 * (cancels.length + abandons.length) +
      1_200 * stops.length;
    const ends = { cancels, stops, abandons };
    return this.#send(lease, bytes, (correlation) => ({
      kind: "call",
      message: create(CallItemSchema, { handle, leaseVersion, correlation, tasks, ...ends }),
    }));
  }

  declareWaits(lease: Lease, waits: TaskWait[]): Promise<ItemAnswer> {
    const { handle, leaseVersion } = lease;
    const bytes = waits.reduce((sum, wait) => sum + waitBytes(wait), 100);
    return this.#send(lease, bytes, (correlation) => ({
      kind: "wait",
      message: create(WaitItemSchema, { handle, leaseVersion, correlation, waits }),
    }));
  }

  #send(lease: Lease, bytes: number, make: (correlation: number) => ItemBody): Promise<ItemAnswer> {
    return new Promise((resolve) => this.#stream.send(lease, bytes, make, resolve));
  }

  progress(lease: Lease, progress: Payload): void {
    const { handle, leaseVersion } = lease;
    this.#stream.progress(lease, create(ProgressItemSchema, { handle, leaseVersion, progress }));
  }

  emit(lease: Lease, item: EmitItem): void {
    this.#stream.emit(lease, item);
  }

  namespaceLedger(signal: AbortSignal): Ledger {
    const blobs = this.#blobs("", signal);
    return new UnaryLedger({ blobs, timeoutMs: NAMESPACE_WAIT_MS, secrets: this.#secrets });
  }

  async propose(lease: Lease, request: ProposeActionRequest, signal: AbortSignal): Promise<string> {
    const { api, namespace } = this.#core;
    const answer = await callUnary(
      (options) =>
        api.approvals.proposeAction(
          create(ProposeActionRequestSchema, { ...request, namespace, holder: holderOf(lease) }),
          options,
        ),
      { ...this.#core.unary(signal), patienceMs: Number.POSITIVE_INFINITY },
    );
    return answer.proposal?.proposalId ?? "";
  }

  async proposeRevision(
    lease: Lease,
    { key, ...revision }: RevisionToRecord,
    signal: AbortSignal,
  ): Promise<number> {
    const { api, namespace } = this.#core;
    const request = { ...lease.ref, namespace, ...revision, ...(key === undefined ? {} : { key }) };
    const answer = await callUnary((options) => api.workers.proposeRevision(request, options), {
      ...this.#core.unary(signal),
      patienceMs: Number.POSITIVE_INFINITY,
    });
    return answer.planVersion;
  }

  soon(run: () => void): void {
    this.#soon.push(run);
    if (this.#soon.length === 1) {
      setImmediate(() => {
        const due = this.#soon;
        this.#soon = [];
        for (const each of due) each();
      });
    }
  }

  currentStep(): StepFrame | undefined {
    return this.#steps.getStore();
  }

  insideStep<T>(frame: StepFrame, run: () => T): T {
    return this.#steps.run(frame, run);
  }

  /** Brings in content of a run that is stored apart. */
  load(payload: Payload | undefined, runId: string): Promise<Payload | undefined> {
    return loadPayload(payload, this.#blobs(runId, this.#core.signal));
  }

  /** Reads the records of a leased task after this event number. */
  readRecords(lease: Lease, afterNumber: number): Promise<Records> {
    const { api, namespace } = this.#core;
    return callUnary(async (options) => {
      const records: Records = { steps: [], outcomes: [], recorded: [] };
      const pages = api.workers.getRecords({ namespace, lease: lease.ref, afterNumber }, options);
      for await (const page of pages) {
        records.steps.push(...page.steps);
        records.outcomes.push(...page.outcomes);
        records.recorded.push(...page.recorded);
      }
      return records;
    }, this.#core.unary());
  }

  #blobs(runId: string, signal: AbortSignal): BlobSource {
    const { api, namespace } = this.#core;
    return { api, namespace, runId, unary: this.#core.unary(signal) };
  }
}

/** Names the lease of whoever proposes. */
function holderOf(lease: Lease): OperationHolder {
  return create(OperationHolderSchema, lease.ref);
}
