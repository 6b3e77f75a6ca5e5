import { limits } from "../core/limits.js";
import type { Target } from "../kernel/outcome.js";
import type { Edge } from "./edge.js";
import { scanPayload } from "./payload-scan.js";

/** True when a payload is kept beside its run and not inside its events. */
export function isLarge(payload: Uint8Array | undefined): payload is Uint8Array {
  return payload !== undefined && payload.length > limits.inlineBytesMax;
}

/**
 * The payload as it is to be recorded: a reference when it is large (its content is then durable already), else undefined, which
 * means as it is.
 *
 * @throws RejectionError (as a rejection) when it is ill-formed, or there is nothing that it could be part of.
 */
export async function admit(
  edge: Edge,
  target: Target,
  payload: Uint8Array | undefined,
  field: string,
): Promise<Uint8Array | undefined> {
  return isLarge(payload)
    ? await edge.kernel.admitPayload(target, scanned(payload, field), { mayBegin: false })
    : undefined;
}

/**
 * The same for the content with which a run or an operation of scope NAMESPACE begins: it is stored before there is such a thing. The
 * caller has checked everything else.
 */
export async function admitFirst(
  edge: Edge,
  target: Target,
  payload: Uint8Array | undefined,
  field: string,
): Promise<Uint8Array | undefined> {
  return isLarge(payload)
    ? await edge.kernel.admitPayload(target, scanned(payload, field), { mayBegin: true })
    : undefined;
}

function scanned(payload: Uint8Array, field: string): Uint8Array {
  scanPayload(payload, field);
  return payload;
}
