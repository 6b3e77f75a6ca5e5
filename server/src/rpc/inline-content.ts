import { decodePayload } from "@pawl/proto/v1/payload_wire.js";
import { equalBytes } from "../core/identity/content-digest.js";
import type { Run } from "../core/state.js";
import { sha256 } from "../log/sha256.js";

/** Hashes of contents that were asked for, by the payload that holds them: a join of many outputs is hashed once. */
const hashes: WeakMap<Uint8Array, Uint8Array> = new WeakMap();

/** SHA-256 of the content of an inline payload. */
export function hashOfContent(payload: Uint8Array, data: Uint8Array): Uint8Array {
  let hash = hashes.get(payload);
  if (hash === undefined) {
    hash = sha256(data);
    hashes.set(payload, hash);
  }
  return hash;
}

/** Content of a run that lies inline and has this hash; offers name such content when they would be too long with it. */
export function findInline(run: Run, wanted: Uint8Array): Uint8Array | undefined {
  for (const task of run.tasks) {
    const data = dataWithHash(task.output, wanted);
    if (data !== undefined) {
      return data;
    }
  }
  return dataWithHash(run.input, wanted);
}

function dataWithHash(payload: Uint8Array | undefined, wanted: Uint8Array): Uint8Array | undefined {
  if (payload === undefined) {
    return undefined;
  }
  const { body } = decodePayload(payload);
  return body.case === "data" && equalBytes(hashOfContent(payload, body.value), wanted)
    ? body.value
    : undefined;
}
