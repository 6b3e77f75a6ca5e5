import { encodeFailure, type FailureShape } from "@pawl/proto/v1/failure_wire.js";
import { limits } from "../../core/limits.js";
import { scanPayload } from "../payload-scan.js";
import { badField } from "../refusals.js";
import { requireText } from "./fields.js";

/** How deep the chain of causes may be. */
const causesMax = 8;

/** Checks a failure as received: its kind, its chain, its data, its size. */
export function requireFailure(failure: FailureShape, field: string): void {
  let path = field;
  let depth = 0;
  for (let link: FailureShape | undefined = failure; link !== undefined; link = link.cause) {
    requireText(link.kind, `${path}.kind`, { min: 1, max: limits.idBytesMax });
    requireText(link.code, `${path}.code`, { min: 0, max: limits.idBytesMax });
    if (link.data !== undefined) {
      scanPayload(link.data, `${path}.data`);
    }
    if (depth > causesMax) {
      throw badField(`${field}.cause`, `at most ${causesMax} causes deep`, "deeper");
    }
    depth++;
    path += ".cause";
  }
  const bytes = encodeFailure(failure).length;
  if (bytes > limits.failureBytesMax) {
    throw badField(field, `at most ${limits.failureBytesMax} bytes encoded`, `${bytes} bytes`);
  }
}
