import type { StartRun } from "../../core/command.js";
import { limits } from "../../core/limits.js";
import { scanPayload } from "../payload-scan.js";
import { requireId, requireOwnId } from "../validate/fields.js";

/** A signal, checked. `field` is the path before its fields, with a full stop, or empty. @throws RejectionError PAWL_INVALID_FIELD */
export function signalParts(
  signal: NonNullable<StartRun["signal"]>,
  field: string,
): NonNullable<StartRun["signal"]> {
  const { name, payload, requestId } = signal;
  requireId("step", name, `${field}name`);
  requireOwnId(requestId, `${field}request_id`, limits.idBytesMax);
  if (payload !== undefined) {
    scanPayload(payload, `${field}payload`);
  }
  return { name, payload, requestId };
}
