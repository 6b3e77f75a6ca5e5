import type { MessageInitShape } from "@bufbuild/protobuf";
import type {
  CancelRunRequest,
  CancelRunResponseSchema,
  TerminateRunRequest,
  TerminateRunResponseSchema,
} from "@pawl/proto/v1/run_service_pb.js";
import { executeOne } from "../answers.js";
import type { CallContext } from "../call-scope.js";
import type { Edge } from "../edge.js";
import { requireReason } from "../validate/fields.js";
import { targetOfRun } from "./requests.js";

/** Asks a run to stop. */
export async function cancelRun(
  edge: Edge,
  request: CancelRunRequest,
  call: CallContext,
): Promise<MessageInitShape<typeof CancelRunResponseSchema>> {
  const target = targetOfRun(request);
  const { expectedVersion, reason } = request;
  requireReason(reason, "reason");
  const order = { target, command: { kind: "CancelRun", expectedVersion, reason } as const };
  const { value, position } = await executeOne(edge, order, call.caller, ({ reply, run }) => ({
    existing: reply.existing,
    version: run.version,
    status: run.status,
  }));
  return { ...value, position };
}

/** Ends a run at once. */
export async function terminateRun(
  edge: Edge,
  request: TerminateRunRequest,
  call: CallContext,
): Promise<MessageInitShape<typeof TerminateRunResponseSchema>> {
  const target = targetOfRun(request);
  const { expectedVersion, reason } = request;
  requireReason(reason, "reason");
  const order = { target, command: { kind: "TerminateRun", expectedVersion, reason } as const };
  const { value, position } = await executeOne(edge, order, call.caller, ({ reply, run }) => ({
    existing: reply.existing,
    version: run.version,
  }));
  return { ...value, position };
}
