import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  type OperationRequest,
  OperationRequestSchema,
  OperationScope,
  SinkKind,
} from "@pawl/proto/v1/operation_pb.js";
import { type Payload, PayloadSchema } from "@pawl/proto/v1/payload_pb.js";
import { RunService, type StartRun, StartRunSchema } from "@pawl/proto/v1/run_service_pb.js";
import { type Offer, WorkerService } from "@pawl/proto/v1/worker_service_pb.js";
import type { RpcClient } from "./rpc-client.js";

/** A JSON payload of a value. */
export function json(value: unknown): Payload {
  return jsonText(JSON.stringify(value));
}

/** A JSON payload of exactly this text. */
export function jsonText(text: string): Payload {
  return create(PayloadSchema, {
    contentType: "application/json",
    body: { case: "data", value: Buffer.from(text) },
  });
}

/** The text of a payload. */
export function textOf(payload: Payload | undefined): string | undefined {
  const { body } = payload ?? {};
  return body?.case === "data" ? Buffer.from(body.value).toString("utf8") : undefined;
}

/** A run of one task of this kind, whose output is the run's; `more` adds to it or replaces parts. */
export function oneTask(
  runId: string,
  kind: string,
  more: MessageInitShape<typeof StartRunSchema> = {},
): StartRun {
  const base: MessageInitShape<typeof StartRunSchema> = {
    runId,
    workflow: "test",
    plan: { tasks: [{ name: "only", kind }], output: "only" },
    input: json({ a: 1 }),
  };
  return create(StartRunSchema, Object.assign(base, more));
}

/** An operation in the scope of its task; `more` adds to it or replaces parts. */
export function operation(
  name: string,
  sinkKind: SinkKind = SinkKind.OPAQUE,
  more: MessageInitShape<typeof OperationRequestSchema> = {},
): OperationRequest {
  const base: MessageInitShape<typeof OperationRequestSchema> = {
    name,
    scope: OperationScope.TASK,
    target: "account-1",
    payload: json({ cents: 100 }),
    sink: { kind: sinkKind, keyWindowMs: 3_600_000n, settleMs: 0 },
    callTimeoutMs: 60_000,
  };
  return create(OperationRequestSchema, Object.assign(base, more));
}

/** Starts a run and claims its only task. */
export async function leasedRun(
  client: RpcClient,
  runId: string,
  more: MessageInitShape<typeof StartRunSchema> = {},
): Promise<Offer> {
  const started = await client.unary(RunService.method.startRuns, {
    runs: [oneTask(runId, `kind-${runId}`, more)],
  });
  if (started.results[0]?.rejection !== undefined) {
    throw new Error(started.results[0].rejection.message);
  }
  return await claim(client, `kind-${runId}`);
}

/** Claims one task of a kind. */
export async function claim(client: RpcClient, kind: string): Promise<Offer> {
  const claims = client.stream(WorkerService.method.claimTasks, {
    sessionId: `session-${kind}`,
    worker: "tester",
    serves: [{ kind }],
    once: true,
    wait: { seconds: 10n },
  });
  for await (const { offers } of claims) {
    const [offer] = offers;
    if (offer !== undefined) {
      return offer;
    }
  }
  throw new Error(`Expected a task of kind ${kind}, but none came.`);
}

/** A lease, as the unary methods name it. */
export function leaseRef(offer: Offer): {
  readonly runId: string;
  readonly task: string;
  readonly leaseVersion: number;
} {
  return { runId: offer.runId, task: offer.task, leaseVersion: offer.leaseVersion };
}

/** Completes a leased task. */
export async function complete(client: RpcClient, offer: Offer, output: unknown): Promise<void> {
  const { results } = await client.unary(WorkerService.method.reportOutputs, {
    reports: [{ ...leaseRef(offer), outcome: { case: "output", value: json(output) } }],
  });
  if (results[0]?.rejection !== undefined) {
    throw new Error(results[0].rejection.message);
  }
}
