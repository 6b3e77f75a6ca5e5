import { CONTENT_DIGEST_BYTES, type ContentDigest } from "../../core/identity/content-digest.js";
import { sha256 } from "../../log/sha256.js";

/** The `bytes` digest: SHA-256 of the content exactly as received. */
export function digestBytes(data: Uint8Array): ContentDigest {
  return { kind: "bytes", digest: sha256(data) };
}

/** Why a digest that a client sent is refused. */
export interface ClientDigestProblem {
  readonly field: string;
  readonly expected: string;
  readonly actual: string;
}

/**
 * The `client` digest: what a client's codec computed over the plaintext, taken as it is, since the kernel sees only
 * ciphertext. Refused unless it has 32 bytes (SHA-256 or HMAC-SHA-256).
 *
 * @param field Name of the field in the answer.
 */
export function readClientDigest(
  digest: Uint8Array,
  field: string,
): ContentDigest | ClientDigestProblem {
  if (digest.length === CONTENT_DIGEST_BYTES) return { kind: "client", digest };
  return { field, expected: `${CONTENT_DIGEST_BYTES} bytes`, actual: `${digest.length} bytes` };
}

/**
 * Whether content of this type is JSON: `application/json`, `text/json` or a type with the suffix `+json` (RFC 6838),
 * in any case and with any parameters.
 */
export function isJsonContentType(contentType: string): boolean {
  const [essence = ""] = contentType.split(";", 1);
  return /^(application\/json|text\/json|[^/]+\/[^/]+\+json)$/i.test(essence.trim());
}
