import { type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import {
  type SuspendRequest,
  type SuspendResponseSchema,
  TaskWaitSchema,
} from "@pawl/proto/v1/worker_service_pb.js";
import { decodeTaskWait } from "@pawl/proto/v1/worker_service_wire.js";
import { executeOne } from "../answers.js";
import type { CallContext } from "../call-scope.js";
import { schemasOf, suspendCommand } from "../commands/suspend.js";
import type { Edge } from "../edge.js";
import { askerOf, requireSchema } from "../schema/check-answer.js";
import { readNamespace, requirePresent } from "../validate/fields.js";
import { acknowledge, leaseOf, standingOf } from "./requests.js";

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
  const asker = askerOf(namespace, call);
  for (const [index, schema] of schemasOf(waits)) {
    await requireSchema({ edge, asker }, schema, `waits[${index}].input.schema`);
  }
  const order = { target, command };
  const { value, position } = await executeOne(edge, order, call.caller, ({ reply, run }) => ({
    existing: reply.existing,
    ...standingOf(run, task),
  }));
  return { ...value, position };
}
