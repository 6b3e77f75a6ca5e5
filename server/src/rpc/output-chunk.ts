import type { EmitItemShape } from "@pawl/proto/v1/worker_service_wire.js";
import { limits } from "../core/limits.js";
import type { EmittedChunk } from "../kernel/output/output-entry.js";
import { scanPayload } from "./payload-scan.js";
import { badField } from "./refusals.js";
import { requireNumber, requirePresent, requireText } from "./validate/fields.js";

/**
 * A chunk of live output, checked.
 *
 * @param field its path, with a full stop, or empty.
 * @throws RejectionError PAWL_INVALID_FIELD.
 */
export function readChunk(item: EmitItemShape, field: string): EmittedChunk {
  const { channel, number } = item;
  requireNumber(number, `${field}number`, { min: 1, max: 0xffff_ffff });
  requireText(channel, `${field}channel`, { min: 0, max: limits.idBytesMax });
  const payload = requirePresent(item.payload, `${field}payload`);
  if (payload.length > limits.inlineBytesMax) {
    const actual = `${payload.length} bytes`;
    throw badField(`${field}payload`, `at most ${limits.inlineBytesMax} bytes`, actual);
  }
  scanPayload(payload, `${field}payload`);
  return { channel, number, payload };
}
