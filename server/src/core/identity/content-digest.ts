/**
 * What a content digest was computed over.
 *
 * - `bytes`: SHA-256 of the bytes as received.
 * - `json`: SHA-256 of the document's RFC 8785 form; always used for JSON in operations, proposals, decisions and
 *   answers, so that spacing and the order of keys do not matter there.
 * - `client`: over the plaintext, computed by a client's codec before it encrypted.
 * - `keyed`: HMAC-SHA-256, for sensitive content that could be guessed from a bare hash.
 */
export type DigestKind = "bytes" | "json" | "client" | "keyed";

/** Length of every content digest, in bytes. */
export const CONTENT_DIGEST_BYTES: number = 32;

/** A digest with its kind. Only digests of one kind say anything about each other. */
export interface ContentDigest {
  readonly kind: DigestKind;
  /** `CONTENT_DIGEST_BYTES` bytes. */
  readonly digest: Uint8Array;
}

/** Whether two digests are of one kind and equal. */
export function equalDigests(left: ContentDigest, right: ContentDigest): boolean {
  return left.kind === right.kind && equalBytes(left.digest, right.digest);
}

/** Whether two arrays hold the same bytes. Not in constant time: digests are no secrets. */
export function equalBytes(left: Uint8Array, right: Uint8Array): boolean {
  if (left.length !== right.length) return false;
  for (let index = 0; index < left.length; index += 1) {
    if (left[index] !== right[index]) return false;
  }
  return true;
}
