import type { ContentDigest } from "../core/identity/content-digest.js";
import { digestBytes } from "./digest/content-digest.js";
import { computeJsonDigest, type JsonDigest } from "./digest/json-digest.js";
import { dataOf, type PayloadScan, scanPayload } from "./payload-scan.js";
import { badField } from "./refusals.js";

/** Content as a fingerprint sees it. */
export interface FingerprintedContent {
  readonly contentType: string;
  readonly digest: ContentDigest;
}

/** Content of a start: the client's own digest, else that of the bytes as received. One hash. */
export function contentOfStart(payload: Uint8Array, field: string): FingerprintedContent {
  const scan = scanPayload(payload, field);
  const { contentType, clientDigest } = scan;
  const digest: ContentDigest =
    clientDigest === undefined
      ? digestBytes(dataOf(payload, scan))
      : { kind: "client", digest: clientDigest };
  return { contentType, digest };
}

/**
 * Content of an operation: the client's own digest; for JSON that of its canonical form, so that spacing and the order of keys
 * do not matter; else that of the bytes.
 *
 * @param ready The `json` digest when it was computed elsewhere (long documents are digested in a thread of their own).
 */
export function contentOfOperation(
  payload: Uint8Array,
  field: string,
  ready?: JsonDigest,
): FingerprintedContent {
  const scan = scanPayload(payload, field);
  const { contentType, clientDigest, isJson } = scan;
  if (clientDigest !== undefined) {
    return { contentType, digest: { kind: "client", digest: clientDigest } };
  }
  const data = dataOf(payload, scan);
  if (!isJson) {
    return { contentType, digest: digestBytes(data) };
  }
  const result = ready ?? computeJsonDigest(data);
  if (!result.ok) {
    throw badField(
      `${field}.data`,
      "JSON that every reader understands alike",
      result.refusal.message,
    );
  }
  return { contentType, digest: result.digest };
}

/** The JSON document of a payload of an operation, when its digest must be computed elsewhere; else undefined. */
export function jsonDocumentOf(payload: Uint8Array, field: string): Uint8Array | undefined {
  const scan: PayloadScan = scanPayload(payload, field);
  return scan.isJson && scan.clientDigest === undefined ? dataOf(payload, scan) : undefined;
}
