import { CONTENT_DIGEST_BYTES, type ContentDigest } from "./content-digest.js";
import { IdentityError } from "./identity-error.js";
import type { Sha256 } from "./sha256.js";
import { utf8ByteLength, writeUtf8 } from "./utf8.js";

/** What is asked for: a start of a run, an operation (or the proposal of one), a declared step input, an answer. */
export type FingerprintKind = "start" | "operation" | "step" | "answer";

/** The content of a request as its fingerprint sees it. */
export interface FingerprintContent {
  /** Media type as sent, compared as bytes: `application/json`. */
  readonly contentType: string;
  readonly digest: ContentDigest;
}

/** What a request *is*. Workflow version, labels, timeouts and trace context are not part of it. */
export interface FingerprintRequest {
  readonly kind: FingerprintKind;
  /** Start: the workflow. Operation: its name. Step: its name. Answer: name of the input request or proposal. */
  readonly name: string;
  /** Start: the namespace. Operation: whom or what it acts on. Step, answer: absent. Absent is not empty. */
  readonly target?: string | undefined;
  /** Absent when the request carries no content; JSON `null` is content. */
  readonly content?: FingerprintContent | undefined;
}

/** First field of every fingerprint, so that a later layout can never give an equal value. */
export const FINGERPRINT_FORMAT: string = "pawl.fp.v1";

const LENGTH_PREFIX_BYTES = 4;
/** Stands for a field that is absent; no field can be that long. */
const ABSENT_LENGTH = 0xffff_ffff;

/** A request to start a run: covers namespace, workflow name and input. */
export function describeStart(
  namespace: string,
  workflow: string,
  input: FingerprintContent | undefined,
): FingerprintRequest {
  return { kind: "start", name: workflow, target: namespace, content: input };
}

/**
 * Fingerprint of a request: SHA-256 of `encodeFingerprintRequest`, 32 bytes. The same key with another fingerprint
 * is another request and is refused.
 *
 * @throws IdentityError when a text holds a lone surrogate or the digest is not of 32 bytes.
 */
export function computeFingerprint(request: FingerprintRequest, sha256: Sha256): Uint8Array {
  return sha256(encodeFingerprintRequest(request));
}

/**
 * The bytes that are hashed: seven fields, each a length (4 bytes, unsigned, big-endian) and that many bytes.
 *
 * | field | bytes |
 * |---|---|
 * | format tag | `pawl.fp.v1` in ASCII |
 * | kind | `start`, `operation`, `step` or `answer` in ASCII |
 * | name | UTF-8 |
 * | target | UTF-8, or absent |
 * | content type | UTF-8, or absent with the content |
 * | digest kind | `bytes`, `json`, `client` or `keyed` in ASCII, or absent with the content |
 * | content digest | the digest itself, or absent with the content |
 *
 * An absent field is the length FFFFFFFF and no bytes; an empty one is the length 00000000.
 *
 * @throws IdentityError when a text holds a lone surrogate or the digest is not of 32 bytes.
 */
export function encodeFingerprintRequest(request: FingerprintRequest): Uint8Array {
  const { content } = request;
  if (content !== undefined && content.digest.digest.length !== CONTENT_DIGEST_BYTES) {
    const { length } = content.digest.digest;
    throw new IdentityError("content_digest", `${CONTENT_DIGEST_BYTES} bytes`, `${length} bytes`);
  }
  const fields: readonly (string | Uint8Array | undefined)[] = [
    FINGERPRINT_FORMAT,
    request.kind,
    request.name,
    request.target,
    content?.contentType,
    content?.digest.kind,
    content?.digest.digest,
  ];
  return encodeFields(fields);
}

function encodeFields(fields: readonly (string | Uint8Array | undefined)[]): Uint8Array {
  let total = fields.length * LENGTH_PREFIX_BYTES;
  for (const field of fields) total += fieldLength(field) ?? 0;
  const bytes = new Uint8Array(total);
  const view = new DataView(bytes.buffer);
  let at = 0;
  for (const field of fields) {
    view.setUint32(at, fieldLength(field) ?? ABSENT_LENGTH);
    at += LENGTH_PREFIX_BYTES;
    if (typeof field === "string") {
      at = writeUtf8(field, bytes, at);
    } else if (field !== undefined) {
      bytes.set(field, at);
      at += field.length;
    }
  }
  return bytes;
}

function fieldLength(field: string | Uint8Array | undefined): number | undefined {
  return typeof field === "string" ? utf8ByteLength(field) : field?.length;
}
