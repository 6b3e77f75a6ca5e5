import { decodePayload } from "@pawl/proto/v1/payload_wire.js";
import { sha256 } from "../../core/support/values.js";

/** What a payload holds, as JSON text. */
export function textOf(payload: Uint8Array | undefined): string {
  const { body } = decodePayload(payload ?? new Uint8Array(0));
  return body?.case === "data" ? new TextDecoder().decode(body.value) : "";
}

/** 32 bytes that stand for what a request is. */
export function fingerprintOf(...parts: readonly string[]): Uint8Array {
  return sha256(new TextEncoder().encode(JSON.stringify(parts)));
}
