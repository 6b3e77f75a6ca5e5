import { fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { type RunResult, RunResultSchema } from "@pawl/proto/v1/run_pb.js";
import {
  type AwaitResultsRequest,
  type AwaitResultsResponseSchema,
  type GetResultRequest,
  type GetResultResponseSchema,
  type StartAndAwaitRequest,
  type StartAndAwaitResponseSchema,
  type StartRun,
  type StartRunResultSchema,
  StartRunSchema,
  type StartRunsRequest,
  type StartRunsResponseSchema,
} from "@pawl/proto/v1/run_service_pb.js";
import { decodeStartRun, type StartRunShape } from "@pawl/proto/v1/run_service_wire.js";
import { encodeRunResult } from "@pawl/proto/v1/run_wire.js";
import { originalInput } from "../../core/continued.js";
import { limits } from "../../core/limits.js";
import type { Rejection } from "../../core/rejection.js";
import type { Run } from "../../core/state.js";
import { type Outcome, type Receiver, RejectionError, type Target } from "../../kernel/outcome.js";
import { admitFirst } from "../admission.js";
import { type Durable, executeAll, type Order } from "../answers.js";
import { awaitEnd } from "../await-end.js";
import type { CallContext } from "../call-scope.js";
import { Channel } from "../channel.js";
import { hasPolicy, startCommand } from "../commands/start-run.js";
import type { Edge } from "../edge.js";
import { rejectionOf } from "../fault.js";
import { internalFault } from "../refusals.js";
import { isSameJson, mayBeSame } from "../same-json.js";
import {
  readDurationMs,
  readNamespace,
  requireCount,
  requireId,
  requirePresent,
} from "../validate/fields.js";
import { rejectionMessage } from "../views/rejection-view.js";
import { resultShape } from "../views/result-view.js";
import { targetOfRun } from "./requests.js";

type StartResult = MessageInitShape<typeof StartRunResultSchema>;

/** Most runs that one AwaitResults may name. */
const awaitedRunsMax = 10_000;

/** Starts runs: one result each, in order. */
export async function startRuns(
  edge: Edge,
  request: StartRunsRequest,
  call: CallContext,
): Promise<MessageInitShape<typeof StartRunsResponseSchema>> {
  const namespace = readNamespace(request.namespace);
  requireCount(request.runs.length, "runs", limits.batchItemsMax);
  const { value, position } = await startAll(edge, namespace, request.runs, call);
  return { results: value.map(({ result }) => result), position };
}

/** Starts one run, then awaits it. */
export async function* startAndAwait(
  edge: Edge,
  request: StartAndAwaitRequest,
  call: CallContext,
): AsyncIterable<MessageInitShape<typeof StartAndAwaitResponseSchema>> {
  const namespace = readNamespace(request.namespace);
  const run = requirePresent(request.run, "run");
  const { value } = await startAll(edge, namespace, [run], call);
  const [started] = value;
  if (started?.rejection !== undefined) {
    throw new RejectionError(started.rejection);
  }
  yield { body: { case: "started", value: started?.result ?? {} } };
  const ended = awaitAll(edge, [{ kind: "run", namespace, runId: run.runId }], call.signal);
  for await (const answers of ended) {
    for (const { answer } of answers) {
      if ("reason" in answer) {
        throw new RejectionError(answer);
      }
      yield { body: { case: "result", value: answer } };
    }
  }
}

/** Waits for one result. */
export async function getResult(
  edge: Edge,
  request: GetResultRequest,
  call: CallContext,
): Promise<MessageInitShape<typeof GetResultResponseSchema>> {
  const target = targetOfRun(request);
  const waitMs = readDurationMs(request.wait, "wait", limits.waitMsMax);
  const result = await awaitEnd(edge, {
    target,
    waitMs,
    signal: call.signal,
    project: resultMessage,
  });
  return result === undefined ? {} : { result };
}

/** Awaits many results; each is sent as it comes. */
export async function* awaitResults(
  edge: Edge,
  request: AwaitResultsRequest,
  call: CallContext,
): AsyncIterable<MessageInitShape<typeof AwaitResultsResponseSchema>> {
  const namespace = readNamespace(request.namespace);
  requireCount(request.runIds.length, "run_ids", awaitedRunsMax);
  const targets = request.runIds.map((runId, index): Target => {
    requireId("run_id", runId, `run_ids[${index}]`);
    return { kind: "run", namespace, runId };
  });
  for await (const answers of awaitAll(edge, targets, call.signal)) {
    yield {
      results: answers.map(({ index, answer }) =>
        "reason" in answer
          ? { correlation: index, rejection: rejectionMessage(answer) }
          : { correlation: index, result: answer },
      ),
    };
  }
}

interface Started {
  readonly result: StartResult;
  readonly rejection: Rejection | undefined;
}

async function startAll(
  edge: Edge,
  namespace: string,
  runs: readonly StartRun[],
  call: CallContext,
): Promise<Durable<Started[]>> {
  const { refusal } = edge.lifecycle;
  if (refusal !== undefined) {
    throw new RejectionError(refusal);
  }
  const items = runs.map((run) => decodeStartRun(toBinary(StartRunSchema, run)));
  const orders = await Promise.all(
    items.map((item, index) => startOrder(edge, { item, message: runs[index] }, namespace)),
  );
  const { value, position } = await executeAll(edge, orders, call.caller, startedOf);
  const settled = value.map((started, index) => {
    const item = items[index];
    const order = orders[index];
    return item === undefined || order === undefined || !("command" in order)
      ? started
      : reconsider(edge, started, { item, order }, call);
  });
  return { value: await Promise.all(settled), position };
}

async function startOrder(
  edge: Edge,
  { item, message }: { readonly item: StartRunShape; readonly message: StartRun | undefined },
  namespace: string,
): Promise<Order | Rejection> {
  try {
    if (message !== undefined) edge.screen.requireClean(message);
    const command = startCommand(item, namespace, edge.plans);
    const target: Target = { kind: "run", namespace, runId: item.runId };
    const input = await admitFirst(edge, target, item.input, "input");
    return { target, command: input === undefined ? command : { ...command, input } };
  } catch (error) {
    return rejectionOf(edge, error, "StartRuns") ?? internalFault();
  }
}

function startedOf(outcome: Outcome): Started {
  if (!outcome.accepted) {
    const { rejection } = outcome;
    return { result: { rejection: rejectionMessage(rejection) }, rejection };
  }
  const { run, reply } = outcome;
  return { result: acceptedStart(run, reply.existing), rejection: undefined };
}

function acceptedStart(run: Run, existing: boolean): StartResult {
  return { existing, version: run.version, incarnation: run.incarnation };
}

/**
 * The inputs differ in their bytes; as JSON documents they may be the same, and then the run exists. What is to become of it is decided by
 * the start's policy, which is asked again with the fingerprint that is recorded.
 */
async function reconsider(
  edge: Edge,
  started: Started,
  { item, order }: { readonly item: StartRunShape; readonly order: Order },
  call: CallContext,
): Promise<Started> {
  const { rejection } = started;
  const received = item.input;
  if (rejection === undefined || received === undefined || !mayBeSame(rejection, received)) {
    return started;
  }
  const { target, command } = order;
  const found = await edge.kernel.view(target, (run) => ({
    recorded: originalInput(run),
    fingerprint: run.fingerprint,
    result: acceptedStart(run, true),
  }));
  const { recorded, fingerprint, result } = found;
  const isSame = recorded !== undefined && (await isSameJson(edge, { target, recorded, received }));
  if (!isSame) {
    return started;
  }
  if (command.kind !== "StartRun" || !hasPolicy(command)) {
    return { result, rejection: undefined };
  }
  const again = { target, command: { ...command, fingerprint } };
  const { value } = await executeAll(edge, [again], call.caller, startedOf);
  return value[0] ?? started;
}

interface Ended {
  readonly index: number;
  readonly answer: RunResult | Rejection;
}

/** The ends of many runs, in batches as they become durable, until all have come. */
async function* awaitAll(
  edge: Edge,
  targets: readonly Target[],
  signal: AbortSignal,
): AsyncGenerator<readonly Ended[], void, undefined> {
  const channel = new Channel<readonly Ended[]>(signal);
  const receiver = new EndsReceiver(targets.length, channel);
  const waits = targets.map((target, tag) => edge.kernel.awaitRun(target, { receiver, tag }));
  try {
    yield* channel;
  } finally {
    for (const wait of waits) {
      wait.cancel();
    }
  }
}

/** Results of one message at most: each may hold an output of 32 KiB. */
const resultsPerMessageMax = 64;

class EndsReceiver implements Receiver {
  readonly #channel: Channel<readonly Ended[]>;
  #missing: number;
  #gathering: Ended[] = [];
  #sealed: Ended[] = [];

  constructor(count: number, channel: Channel<readonly Ended[]>) {
    this.#missing = count;
    this.#channel = channel;
  }

  outcome(index: number, outcome: Outcome): void {
    const answer = outcome.accepted ? resultMessage(outcome.run) : outcome.rejection;
    this.#gathering.push({ index, answer });
  }

  prepare(): void {
    this.#sealed.push(...this.#gathering);
    this.#gathering = [];
  }

  release(): void {
    const sealed = this.#sealed;
    this.#sealed = [];
    this.#missing -= sealed.length;
    for (let from = 0; from < sealed.length; from += resultsPerMessageMax) {
      this.#channel.push(sealed.slice(from, from + resultsPerMessageMax));
    }
    if (this.#missing === 0) {
      this.#channel.end();
    }
  }

  fault(error: unknown): void {
    this.#channel.fail(error);
  }
}

function resultMessage(run: Run): RunResult {
  return fromBinary(RunResultSchema, encodeRunResult(resultShape(run)));
}
