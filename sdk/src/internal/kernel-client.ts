import { randomUUID } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import type { Plan } from "@pawl/proto/v1/plan_pb.js";
import {
  LabelSchema,
  OnExisting,
  type StartRun,
  StartRunSchema,
  type StartSignal,
  StartSignalSchema,
} from "@pawl/proto/v1/run_service_pb.js";
import type { Approvals } from "../approvals.js";
import type { PawlClient } from "../client.js";
import type { Client, Startable } from "../connect.js";
import type { ConnectionStatus } from "../connection.js";
import { Closed, DefinitionInvalid, type PawlError, TooLarge } from "../errors.js";
import type { Inputs } from "../inputs.js";
import type { StartSignalOptions } from "../messages.js";
import type { Operation } from "../operation.js";
import type { Reviews } from "../reviews.js";
import type { Run, WaitOptions } from "../run.js";
import type { ClientPerformOptions, OnExistingRun, StartOptions } from "../start-options.js";
import type { Versions } from "../versions.js";
import type { CloseOptions, Worker, WorkerOptions } from "../worker-options.js";
import { ApprovalsClient } from "./approvals-client.js";
import { atVersion } from "./at-version.js";
import type { ClientCore } from "./client-core.js";
import { encodeValue, payloadBytes } from "./codec.js";
import { parseDuration } from "./duration-ms.js";
import { checkId } from "./ids.js";
import { InputsClient } from "./inputs-client.js";
import { buildOperationRequest, requireOptions } from "./operation-request.js";
import { Performance } from "./perform.js";
import { buildPlanMessage, MAIN_TASK } from "./plan-message.js";
import { ReviewsClient } from "./reviews-client.js";
import { RunHandle } from "./run-handle.js";
import { runTimeoutOf } from "./run-timeout.js";
import { Secrets } from "./secrets.js";
import { SubmitStream } from "./submit-stream.js";
import { monotonicMs, wait } from "./time.js";
import { currentTraceparent, traceparentOf } from "./trace.js";
import { startSpan } from "./trace-spans.js";
import { UnaryLedger } from "./unary-ledger.js";
import { check } from "./validate.js";
import { VersionsClient } from "./versions-client.js";
import { waitFor } from "./wait-for.js";
import { encodePlanOnce } from "./wire-messages.js";
import { WorkSession } from "./work-session.js";

/** Most labels of a run. */
const LABELS_MAX = 32;

/** Most bytes of one start: the kernel's message bound with room for what is around it. */
const START_BYTES_MAX = 4_100_000;

/** A performance without a worker waits this long in all, in ms. */
const PERFORM_MS_DEFAULT = 120_000;

/** How long closing waits for workers and starts, in ms. */
const DRAIN_MS_DEFAULT = 10_000;

/** What is sent of a definition. */
interface Compiled {
  readonly workflow: string;
  readonly plan: Plan;
  readonly planBytes: number;
}

/** A client of one kernel. */
export class KernelClient implements Client {
  readonly approvals: Approvals;
  readonly inputs: Inputs;
  readonly versions: Versions;
  readonly reviews: Reviews;
  readonly #core: ClientCore;
  readonly #submit: SubmitStream;
  readonly #workers = new Set<WorkSession>();
  readonly #compiled = new WeakMap<object, Compiled>();
  #closed: Promise<void> | undefined;

  constructor(core: ClientCore) {
    this.#core = core;
    this.approvals = new ApprovalsClient(core);
    this.inputs = new InputsClient(core);
    this.versions = new VersionsClient(core);
    this.reviews = new ReviewsClient(core);
    this.#submit = new SubmitStream(core);
  }

  get api(): PawlClient {
    return this.#core.api;
  }

  get connection(): ConnectionStatus {
    return this.#core.monitor.status;
  }

  async start<Sent, Output>(
    definition: Startable<Sent, Output>,
    input?: Sent,
    options: StartOptions = {},
  ): Promise<Run<Output>> {
    const { run, started } = await this.#start<Output>(definition, input, options, false);
    await waitFor(
      started,
      options,
      `the acknowledgement of run "${run.runId}"`,
      this.#core.monitor,
    );
    return run;
  }

  async execute<Sent, Output>(
    definition: Startable<Sent, Output>,
    input?: Sent,
    options: StartOptions & WaitOptions = {},
  ): Promise<Output> {
    const { run } = await this.#start<Output>(definition, input, options, true);
    return run.result(options);
  }

  run<Output = unknown>(runId: string, _definition?: Startable<unknown, Output>): Run<Output> {
    return new RunHandle<Output>(this.#core, this.#submit, checkId(runId, "runId"));
  }

  async perform<Sent, Result>(
    operation: Operation<Sent, Result>,
    payload: Sent,
    options: ClientPerformOptions,
  ): Promise<Result> {
    this.#assertOpen();
    requireOptions(operation, options);
    const request = await buildOperationRequest(operation, payload, options);
    const { api, namespace } = this.#core;
    const unary = this.#core.unary(options.signal);
    const timeoutMs =
      options.timeout === undefined
        ? PERFORM_MS_DEFAULT
        : parseDuration(options.timeout, "timeout");
    const secrets = new Secrets(options.secrets);
    const blobs = { api, namespace, runId: "", unary };
    const ledger = new UnaryLedger({ blobs, timeoutMs, secrets });
    // The engine decodes what the operation's own schema gave.
    return (await new Performance(ledger, operation, request).run()) as Result;
  }

  async worker(options: WorkerOptions): Promise<Worker> {
    this.#assertOpen();
    const session = new WorkSession(this.#core, options, (ended) => this.#workers.delete(ended));
    this.#workers.add(session);
    try {
      await session.open();
    } catch (thrown) {
      await session.close({ drainMs: 0 });
      throw thrown;
    }
    return session;
  }

  close(options: CloseOptions = {}): Promise<void> {
    this.#closed ??= this.#close(options.drainMs ?? DRAIN_MS_DEFAULT);
    return this.#closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** The kernel will never answer again: everything that waits, or is asked later, rejects with this reason. */
  async fail(reason: PawlError): Promise<void> {
    await this.#end(reason);
    await this.close({ drainMs: 0 });
  }

  async #close(drainMs: number): Promise<void> {
    const endsAtMs = monotonicMs() + drainMs;
    await Promise.all([...this.#workers].map((worker) => worker.close({ drainMs })));
    while (this.#submit.openStarts > 0 && monotonicMs() < endsAtMs) await wait(10);
    await this.#end(new Closed("client"));
  }

  async #end(reason: PawlError): Promise<void> {
    this.#core.close(reason);
    await this.#submit.close(reason);
    this.#core.api.close();
  }

  #assertOpen(): void {
    this.#core.signal.throwIfAborted();
    if (this.#closed !== undefined) throw new Closed("client");
  }

  async #start<Output>(
    definition: Startable,
    input: unknown,
    options: StartOptions,
    waits: boolean,
  ): Promise<{ run: RunHandle<Output>; started: Promise<unknown> }> {
    this.#assertOpen();
    const { definition: versioned, choice } = atVersion(definition, options.version);
    const checking = check(definition.inputSchema, input, "input");
    const compiled = this.#compile(versioned);
    const isOwnId = options.runId === undefined;
    const start = buildStart(compiled, input, options);
    if (checking !== undefined) {
      await checking;
      this.#assertOpen();
    }
    const runTimeout = runTimeoutOf(definition, options.runTimeout);
    if (runTimeout !== undefined) start.runTimeout = runTimeout;
    if (choice !== undefined) start.versionChoice = choice;
    start.wait = waits;
    const span = startSpan(start.workflow, start.runId, start.traceparent);
    if (span !== undefined && options.traceparent === undefined) {
      start.traceparent = traceparentOf(span.context);
    }
    const bytes = sizeOf(start, compiled);
    const sent = this.#submit.start(start, bytes);
    const run = new RunHandle<Output>(this.#core, this.#submit, start.runId, sent.result);
    const started = sent.started.then((answer) =>
      // A fresh UUID can exist only because this very start was sent twice.
      run.started({ ...answer, existing: answer.existing && !isOwnId }),
    );
    started.then(
      () => span?.end(),
      (error: unknown) => span?.end(error),
    );
    return { run, started };
  }

  #compile(definition: Startable): Compiled {
    let compiled = this.#compiled.get(definition);
    if (compiled === undefined) {
      const plan =
        definition.type === "plan"
          ? definition.message
          : buildPlanMessage(definition.name, { [MAIN_TASK]: { task: definition } }, MAIN_TASK);
      compiled = { workflow: definition.name, plan, planBytes: encodePlanOnce(plan).length };
      this.#compiled.set(definition, compiled);
    }
    return compiled;
  }
}

/** Code without types may name anything. */
function policyOf(policy: OnExistingRun): OnExisting {
  const known: Readonly<Record<OnExistingRun, OnExisting>> = {
    attach: OnExisting.ATTACH,
    refuse: OnExisting.REFUSE,
    replace_open: OnExisting.REPLACE_OPEN,
    restart_failed: OnExisting.RESTART_FAILED,
    restart_closed: OnExisting.RESTART_CLOSED,
  };
  if (!Object.hasOwn(known, policy)) {
    throw new DefinitionInvalid(
      `Expected onExisting to be one of ${Object.keys(known).join(", ")}, but it is "${String(policy)}".`,
    );
  }
  return known[policy];
}

/**
 * The encoded length of a start, at least.
 *
 * @throws TooLarge when it does not fit into a message.
 */
function sizeOf(start: StartRun, { planBytes }: Compiled): number {
  let bytes = planBytes + payloadBytes(start.input) + payloadBytes(start.signal?.payload) + 1_200;
  for (const { key, value } of start.labels) bytes += 3 * (key.length + value.length) + 8;
  if (bytes > START_BYTES_MAX) {
    throw new TooLarge(
      `Expected plan and input of a run to be at most ${START_BYTES_MAX} bytes together, but they have ${bytes}. ` +
        "Store the input elsewhere and send where it is, with its hash.",
    );
  }
  return bytes;
}

function buildStart({ workflow, plan }: Compiled, input: unknown, options: StartOptions): StartRun {
  const labels = Object.entries(options.labels ?? {});
  if (labels.length > LABELS_MAX) {
    throw new DefinitionInvalid(
      `Expected at most ${LABELS_MAX} labels, but there are ${labels.length}. Put the rest into the input.`,
    );
  }
  const start = create(StartRunSchema, {
    runId: options.runId === undefined ? randomUUID() : checkId(options.runId, "runId"),
    workflow,
    plan,
    labels: labels.map(([key, value]) =>
      create(LabelSchema, { key: checkId(key, "the key of a label"), value }),
    ),
    traceparent: options.traceparent ?? currentTraceparent(),
  });
  const { onExisting = "attach" } = options;
  if (onExisting !== "attach") {
    start.onExisting = policyOf(onExisting);
    start.requestId = randomUUID();
  }
  if (options.requestId !== undefined) start.requestId = checkId(options.requestId, "requestId");
  const payload = encodeValue(input, "input");
  if (payload !== undefined) start.input = payload;
  if (options.withSignal !== undefined) start.signal = buildSignal(options.withSignal);
  return start;
}

function buildSignal({ name, payload, requestId = randomUUID() }: StartSignalOptions): StartSignal {
  const signal = create(StartSignalSchema, {
    name: checkId(name, "the name of a signal"),
    requestId: checkId(requestId, "requestId"),
  });
  const content = encodeValue(payload, `signal "${name}"`);
  if (content !== undefined) signal.payload = content;
  return signal;
}
