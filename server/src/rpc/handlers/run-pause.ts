import type { MessageInitShape } from "@bufbuild/protobuf";
import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import type {
  PauseRunRequest,
  PauseRunResponseSchema,
  ResumeRunRequest,
  ResumeRunResponseSchema,
} from "@pawl/proto/v1/run_service_pb.js";
import type { CallContext } from "../call-scope.js";
import type { Edge } from "../edge.js";
import { orderRun } from "./run-order.js";

/** Pauses a run. */
export function pauseRun(
  edge: Edge,
  request: PauseRunRequest,
  call: CallContext,
): Promise<MessageInitShape<typeof PauseRunResponseSchema>> {
  return orderRun(
    { edge, call },
    request,
    (order) => ({ kind: "PauseRun", ...order, untaken: [] }),
    ({ tasks }) => ({
      runningTasks: tasks.filter(({ status }) => status === TaskStatus.LEASED).length,
    }),
  );
}

/** Lets a paused run go on. */
export function resumeRun(
  edge: Edge,
  request: ResumeRunRequest,
  call: CallContext,
): Promise<MessageInitShape<typeof ResumeRunResponseSchema>> {
  return orderRun(
    { edge, call },
    request,
    (order) => ({ kind: "ResumeRun", ...order }),
    () => ({}),
  );
}
