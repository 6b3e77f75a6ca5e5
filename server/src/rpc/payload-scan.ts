import { DigestKind } from "@pawl/proto/v1/payload_pb.js";
import { decodeContentDigest } from "@pawl/proto/v1/payload_wire.js";
import { WireReader } from "@pawl/proto/wire/reader.js";
import { WireError } from "@pawl/proto/wire/wire-error.js";
import { CONTENT_DIGEST_BYTES } from "../core/identity/content-digest.js";
import { limits } from "../core/limits.js";
import { isJsonContentType } from "./digest/content-digest.js";
import { badField } from "./refusals.js";
import { requireText } from "./validate/fields.js";

/** What the edge needs to know of an encoded `pawl.v1.Payload`. One object serves all scans: read it at once. */
export interface PayloadScan {
  readonly contentType: string;
  /** Where the content begins in the payload's bytes, and how long it is. */
  readonly dataStart: number;
  readonly dataBytes: number;
  /** Digest that a client-side codec sent; undefined: the kernel computes its own. */
  readonly clientDigest: Uint8Array | undefined;
  /** True when the content is JSON that the kernel can read: not encoded by a client-side codec. */
  readonly isJson: boolean;
}

const json = "application/json";

class ReusedScan implements PayloadScan {
  contentType = "";
  dataStart = -1;
  dataBytes = 0;
  clientDigest: Uint8Array | undefined;
  isJson = false;
}

const scan = new ReusedScan();

/**
 * Checks a payload as received, without decoding its content: only tags are read.
 *
 * @throws RejectionError when it is ill-formed, has no content type, neither content nor anything that can be taken, a
 *   blob reference (only the kernel makes those), or a digest of a kind other than CLIENT.
 */
export function scanPayload(bytes: Uint8Array, field: string): PayloadScan {
  scan.contentType = "";
  scan.dataStart = -1;
  scan.dataBytes = 0;
  scan.clientDigest = undefined;
  let encoding = "";
  try {
    encoding = readFields(bytes, field);
  } catch (error) {
    if (error instanceof WireError) {
      throw badField(field, "an encoded pawl.v1.Payload", error.message);
    }
    throw error;
  }
  if (scan.contentType === "") {
    throw badField(`${field}.content_type`, "1 to 200 bytes of UTF-8", "empty");
  }
  if (scan.contentType !== json) {
    requireText(scan.contentType, `${field}.content_type`, { min: 1, max: limits.idBytesMax });
  }
  if (scan.dataStart < 0) {
    throw badField(`${field}.data`, "set (zero bytes are allowed)", "absent");
  }
  scan.isJson =
    encoding === "" && (scan.contentType === json || isJsonContentType(scan.contentType));
  return scan;
}

/** The content that the last scan located. */
export function dataOf(bytes: Uint8Array, { dataStart, dataBytes }: PayloadScan): Uint8Array {
  return bytes.subarray(dataStart, dataStart + dataBytes);
}

function readFields(bytes: Uint8Array, field: string): string {
  const reader = new WireReader(bytes);
  const { limit } = reader;
  let encoding = "";
  while (reader.pos < limit) {
    const tag = reader.tag();
    switch (tag) {
      case 10:
        scan.contentType = readContentType(reader, bytes);
        break;
      case 18:
        locateData(reader, bytes, tag);
        break;
      case 26:
        throw badField(`${field}.blob`, "left out: only the kernel makes references", "set");
      case 34:
        scan.clientDigest = readDigest(reader.bytes(), `${field}.digest`);
        break;
      case 42:
        encoding = reader.string();
        requireText(encoding, `${field}.encoding`, { min: 0, max: limits.idBytesMax });
        break;
      default:
        reader.skip(tag);
    }
  }
  return encoding;
}

/** Notes where the content lies; a view of it is made only when someone hashes it. */
function locateData(reader: WireReader, bytes: Uint8Array, tag: number): void {
  let start = reader.pos;
  reader.skip(tag);
  while ((bytes[start] ?? 0) >= 0x80) {
    start++;
  }
  scan.dataStart = start + 1;
  scan.dataBytes = reader.pos - scan.dataStart;
}

/** `application/json` is what nearly every payload says: it is recognised without making a string. */
function readContentType(reader: WireReader, bytes: Uint8Array): string {
  const { pos } = reader;
  if (bytes[pos] === json.length && pos + 1 + json.length <= reader.limit) {
    let index = 0;
    while (index < json.length && bytes[pos + 1 + index] === json.charCodeAt(index)) {
      index++;
    }
    if (index === json.length) {
      reader.pos = pos + 1 + json.length;
      return json;
    }
  }
  return reader.string();
}

function readDigest(bytes: Uint8Array, field: string): Uint8Array {
  const digest = decodeContentDigest(bytes);
  if (digest.kind !== DigestKind.CLIENT) {
    throw badField(`${field}.kind`, "CLIENT, or no digest at all", `kind ${digest.kind}`);
  }
  if (digest.value.length !== CONTENT_DIGEST_BYTES) {
    throw badField(
      `${field}.value`,
      `${CONTENT_DIGEST_BYTES} bytes`,
      `${digest.value.length} bytes`,
    );
  }
  return digest.value;
}
