import { toBinary } from "@bufbuild/protobuf";
import { type Payload, PayloadSchema } from "@pawl/proto/v1/payload_pb.js";
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
export function admit(
  edge: Edge,
  target: Target,
  payload: Uint8Array | undefined,
  field: string,
): Promise<Uint8Array | undefined> {
  return admitLarge(edge, target, payload, { field, mayBegin: false });
}

/**
 * The same for the content with which a run or an operation of scope NAMESPACE begins: it is stored before there is such a thing. The
 * caller has checked everything else.
 */
export function admitFirst(
  edge: Edge,
  target: Target,
  payload: Uint8Array | undefined,
  field: string,
): Promise<Uint8Array | undefined> {
  return admitLarge(edge, target, payload, { field, mayBegin: true });
}

async function admitLarge(
  edge: Edge,
  target: Target,
  payload: Uint8Array | undefined,
  { field, mayBegin }: { readonly field: string; readonly mayBegin: boolean },
): Promise<Uint8Array | undefined> {
  if (!isLarge(payload)) {
    return undefined;
  }
  scanPayload(payload, field);
  return await edge.kernel.admitPayload(target, payload, { mayBegin });
}

/**
 * The bytes of a payload of a message as they are to be recorded, large or not; undefined when the message has none.
 *
 * @throws RejectionError (as a rejection) as `admit` does, also for a small one that is ill-formed.
 */
export async function admitMessage(
  edge: Edge,
  target: Target,
  payload: Payload | undefined,
  field: string,
): Promise<Uint8Array | undefined> {
  if (payload === undefined) {
    return undefined;
  }
  const bytes = toBinary(PayloadSchema, payload);
  scanPayload(bytes, field);
  return (await admit(edge, target, bytes, field)) ?? bytes;
}
