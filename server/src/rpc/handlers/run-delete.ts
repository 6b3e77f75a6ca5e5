import type { MessageInitShape } from "@bufbuild/protobuf";
import type { DeleteRunRequest, DeleteRunResponseSchema } from "@pawl/proto/v1/retention_pb.js";
import type { CallContext } from "../call-scope.js";
import type { Edge } from "../edge.js";
import { timestampView } from "../views/payload-view.js";
import { orderRun } from "./run-order.js";

/** Deletes a run that has ended. */
export async function deleteRun(
  edge: Edge,
  request: DeleteRunRequest,
  call: CallContext,
): Promise<MessageInitShape<typeof DeleteRunResponseSchema>> {
  const { dryRun } = request;
  const { existing, position, untilMs, events } = await orderRun(
    { edge, call },
    request,
    (order) => ({ kind: "DeleteRun", ...order, dryRun, whenDue: false }),
    ({ deletion, eventCount, namespace }) => ({
      untilMs: deletion?.tombstoneUntilMs ?? edge.kernel.tombstoneUntilMs(namespace),
      events: eventCount,
    }),
  );
  const tombstoneUntil = timestampView(untilMs);
  return {
    ...{ existing, position, events: existing ? 0 : events },
    ...(tombstoneUntil === undefined ? {} : { tombstoneUntil }),
  };
}
