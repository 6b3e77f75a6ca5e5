import { type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import {
  type DeclareWaitsRequest,
  type DeclareWaitsResponseSchema,
  type SuspendRequest,
  type SuspendResponseSchema,
  TaskWaitSchema,
} from "@pawl/proto/v1/worker_service_pb.js";
import { decodeTaskWait, type TaskWaitShape } from "@pawl/proto/v1/worker_service_wire.js";
import { executeOne } from "../answers.js";
import type { CallContext } from "../call-scope.js";
import { declareCommand, schemasOf, suspendCommand } from "../commands/suspend.js";
import type { Edge } from "../edge.js";
import { askerOf, requireSchema, type SchemaParts } from "../schema/check-answer.js";
import { readNamespace, requirePresent } from "../validate/fields.js";
import { acknowledge, leaseOf, leaseOfRequest, standingOf } from "./requests.js";

/** Begins waits while the lease stays. */
export async function declareWaits(
  edge: Edge,
  request: DeclareWaitsRequest,
  call: CallContext,
): Promise<MessageInitShape<typeof DeclareWaitsResponseSchema>> {
  const lease = leaseOfRequest(request);
  const { target, task, leaseVersion } = lease;
  const waits = request.waits.map((wait) => decodeTaskWait(toBinary(TaskWaitSchema, wait)));
  const command = declareCommand({ leaseVersion, waits }, task);
  await acknowledge(edge, lease);
  await requireSchemas(edge, waits, askerOf(readNamespace(request.namespace), call));
  const order = { target, command };
  const { value, position } = await executeOne(edge, order, call.caller, ({ reply, run }) => ({
    existing: reply.existing,
    version: standingOf(run, task).version,
  }));
  return { ...value, position };
}

async function requireSchemas(
  edge: Edge,
  waits: readonly TaskWaitShape[],
  asker: SchemaParts["asker"],
): Promise<void> {
  for (const [index, schema] of schemasOf(waits)) {
    await requireSchema({ edge, asker }, schema, `waits[${index}].input.schema`);
  }
}

/** Gives a task back until something it waits for is there. */
export async function suspendTask(
  edge: Edge,
  request: SuspendRequest,
  call: CallContext,
): Promise<MessageInitShape<typeof SuspendResponseSchema>> {
  const namespace = readNamespace(request.namespace);
  const lease = leaseOf(namespace, requirePresent(request.lease, "lease"), "lease.");
  const { target, task, leaseVersion } = lease;
  const { seenThrough } = request;
  const waits = request.waits.map((wait) => decodeTaskWait(toBinary(TaskWaitSchema, wait)));
  const command = suspendCommand({ leaseVersion, seenThrough, waits }, task);
  await acknowledge(edge, lease);
  await requireSchemas(edge, waits, askerOf(namespace, call));
  const order = { target, command };
  const { value, position } = await executeOne(edge, order, call.caller, ({ reply, run }) => ({
    existing: reply.existing,
    ...standingOf(run, task),
  }));
  return { ...value, position };
}
