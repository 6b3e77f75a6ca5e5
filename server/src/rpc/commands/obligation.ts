import type { ObligationItemShape } from "@pawl/proto/v1/worker_service_wire.js";
import type { MakeObligation, ObligationOrder, TaskRef } from "../../core/command.js";
import { limits } from "../../core/limits.js";
import { scanPayload } from "../payload-scan.js";
import { badField } from "../refusals.js";
import { requireId, requireReason } from "../validate/fields.js";

/** The command of one obligation, checked. Paths of fields are relative to the item. @throws RejectionError PAWL_INVALID_FIELD */
export function obligationCommand(item: ObligationItemShape, task: TaskRef): MakeObligation {
  const { leaseVersion, name, key, runId, seenThrough } = item;
  requireId("step", name, "name");
  if (key !== undefined) {
    requireId("discriminator", key, "key");
  }
  requireId("run_id", runId, "run_id");
  const order = orderOf(item);
  return { kind: "MakeObligation", task, leaseVersion, name, key, runId, order, seenThrough };
}

function orderOf({ order }: ObligationItemShape): ObligationOrder {
  switch (order.case) {
    case "signal": {
      const { signal, payload } = order.value;
      requireId("step", signal, "signal.signal");
      requireInline(payload);
      return { case: "signal", signal, payload };
    }
    case "cancel": {
      const { reason } = order.value;
      requireReason(reason, "cancel.reason");
      return { case: "cancel", reason };
    }
    default:
      throw badField("order", "one of signal, cancel", "absent");
  }
}

/** Content that is kept beside a run is kept beside one run only, and the receiver is another. */
function requireInline(payload: Uint8Array | undefined): void {
  if (payload === undefined) {
    return;
  }
  scanPayload(payload, "signal.payload");
  if (payload.length > limits.inlineBytesMax) {
    const expected = `at most ${limits.inlineBytesMax} bytes in a signal between runs`;
    throw badField("signal.payload", expected, `${payload.length} bytes`);
  }
}
