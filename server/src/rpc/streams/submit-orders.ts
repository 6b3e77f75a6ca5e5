import type {
  SubmitSignalResultShape,
  SubmitSignalShape,
} from "@pawl/proto/v1/run_service_wire.js";
import type { Outcome, Target } from "../../kernel/outcome.js";
import type { Order } from "../answers.js";
import { signalParts } from "../commands/signal.js";
import { rejectionShape } from "../rejection-shape.js";
import { requireId, requireNumber } from "../validate/fields.js";

/** The run that an item names. */
export function targetOf(namespace: string, runId: string): Target {
  return { kind: "run", namespace, runId };
}

/**
 * The order of a signal, checked.
 *
 * @param admitted its content as it is recorded, when that is a reference.
 * @throws RejectionError PAWL_INVALID_FIELD; paths of fields are relative to the item.
 */
export function signalOrder(
  item: SubmitSignalShape,
  namespace: string,
  admitted?: Uint8Array,
): Order {
  const { runId, name, requestId, expectedVersion } = item;
  requireId("run_id", runId, "run_id");
  if (expectedVersion !== undefined) {
    requireNumber(expectedVersion, "expected_version", { min: 1, max: 0xffff_ffff });
  }
  const parts = signalParts({ name, requestId, payload: item.payload }, "");
  const payload = admitted ?? parts.payload;
  return {
    target: targetOf(namespace, runId),
    command: { kind: "SendSignal", name, requestId, payload, expectedVersion },
  };
}

/** What a signal is answered. */
export function signalAnswer(correlation: number, outcome: Outcome): SubmitSignalResultShape {
  if (!outcome.accepted) {
    const rejection = rejectionShape(outcome.rejection);
    return { correlation, existing: false, version: 0, rejection };
  }
  const { reply, run } = outcome;
  return { correlation, existing: reply.existing, version: run.version };
}
