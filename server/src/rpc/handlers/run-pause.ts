import type { MessageInitShape } from "@bufbuild/protobuf";
import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import type {
  PauseRunRequest,
  PauseRunResponseSchema,
  ResumeRunRequest,
  ResumeRunResponseSchema,
} from "@pawl/proto/v1/run_service_pb.js";
import { executeOne } from "../answers.js";
import type { CallContext } from "../call-scope.js";
import type { Edge } from "../edge.js";
import { requireReason } from "../validate/fields.js";
import { targetOfRun } from "./requests.js";

/** Pauses a run. */
export async function pauseRun(
  edge: Edge,
  request: PauseRunRequest,
  call: CallContext,
): Promise<MessageInitShape<typeof PauseRunResponseSchema>> {
  const target = targetOfRun(request);
  const { expectedVersion, reason } = request;
  requireReason(reason, "reason");
  const command = { kind: "PauseRun", expectedVersion, reason, untaken: [] } as const;
  const order = { target, command };
  const { value, position } = await executeOne(edge, order, call.caller, ({ reply, run }) => ({
    existing: reply.existing,
    version: run.version,
    runningTasks: run.tasks.filter(({ status }) => status === TaskStatus.LEASED).length,
  }));
  return { ...value, position };
}

/** Lets a paused run go on. */
export async function resumeRun(
  edge: Edge,
  request: ResumeRunRequest,
  call: CallContext,
): Promise<MessageInitShape<typeof ResumeRunResponseSchema>> {
  const target = targetOfRun(request);
  const { expectedVersion, reason } = request;
  requireReason(reason, "reason");
  const order = { target, command: { kind: "ResumeRun", expectedVersion, reason } as const };
  const { value, position } = await executeOne(edge, order, call.caller, ({ reply, run }) => ({
    existing: reply.existing,
    version: run.version,
  }));
  return { ...value, position };
}
