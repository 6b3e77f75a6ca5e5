import type { MessageInitShape } from "@bufbuild/protobuf";
import type {
  CancelRunRequest,
  CancelRunResponseSchema,
  TerminateRunRequest,
  TerminateRunResponseSchema,
} from "@pawl/proto/v1/run_service_pb.js";
import type { CallContext } from "../call-scope.js";
import type { Edge } from "../edge.js";
import { orderRun } from "./run-order.js";

/** Asks a run to stop. */
export function cancelRun(
  edge: Edge,
  request: CancelRunRequest,
  call: CallContext,
): Promise<MessageInitShape<typeof CancelRunResponseSchema>> {
  return orderRun(
    { edge, call },
    request,
    (order) => ({ kind: "CancelRun", ...order }),
    ({ status }) => ({ status }),
  );
}

/** Ends a run at once. */
export function terminateRun(
  edge: Edge,
  request: TerminateRunRequest,
  call: CallContext,
): Promise<MessageInitShape<typeof TerminateRunResponseSchema>> {
  return orderRun(
    { edge, call },
    request,
    (order) => ({ kind: "TerminateRun", ...order }),
    () => ({}),
  );
}
