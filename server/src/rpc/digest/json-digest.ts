import canonicalize from "canonicalize";
import type { ContentDigest } from "../../core/identity/content-digest.js";
import { sha256 } from "../../log/sha256.js";
import type { JsonRefusal } from "./json-refusal.js";
import { readStrictJson } from "./strict-json.js";

/** The `json` digest of a document, or why it has none. */
export type JsonDigest =
  | { readonly ok: true; readonly digest: ContentDigest }
  | { readonly ok: false; readonly refusal: JsonRefusal };

const encoder = new TextEncoder();

/**
 * The `json` digest of a document, at once: SHA-256 of its RFC 8785 form (members sorted by UTF-16 code units, numbers
 * as ECMAScript writes them, no white space, UTF-8). It blocks for a tenth of a second a megabyte; on the loop of a process
 * that serves others use `JsonDigester`, which takes long documents off it.
 */
export function computeJsonDigest(data: Uint8Array): JsonDigest {
  const read = readStrictJson(data);
  if (!read.ok) return read;
  const canonical = canonicalize(read.value);
  if (canonical === undefined)
    throw new TypeError("Expected a JSON value, but canonicalize has no form for it.");
  return { ok: true, digest: { kind: "json", digest: sha256(encoder.encode(canonical)) } };
}
