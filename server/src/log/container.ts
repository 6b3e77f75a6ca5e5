/**
 * What segments and chunks have in common: a header of 72 bytes, slices, and a hash of all before it.
 *
 * ```
 * 0   magic                 4
 * 4   format                1
 * 5   flags                 1   0, reserved
 * 6   reserved              2   0
 * 8   numbers              24   of the kind
 * 32  previous hash        32
 * 64  slices' length        4   bytes
 * 68  crc32                 4   over all other bytes of the header and all slices
 * 72  slices
 * …   own hash             32   SHA-256 over everything before it
 * ```
 * Numbers are big-endian.
 */

import { crc32 } from "node:zlib";
import { allocateKept, equalBytes, readU16, readU32, writeU32 } from "./bytes.js";
import { sha256 } from "./sha256.js";

/** Bytes before the slices. */
export const CONTAINER_HEADER_BYTES: number = 72;
/** Bytes of a SHA-256, at the end and of the container before. */
export const HASH_BYTES: number = 32;
const PREV_HASH_OFFSET = 32;
const LENGTH_OFFSET = 64;
const CRC_OFFSET = 68;

/** A finished segment or chunk, never written again. The `value` of a segment has a buffer of its own, since it is kept. */
export interface BuiltContainer {
  readonly value: Uint8Array;
  readonly hash: Uint8Array;
}

/** Writes the fixed parts of a header. The kind's numbers, the length and the crc come later. */
export function writeContainerHead(
  bytes: Uint8Array,
  magic: number,
  format: number,
  prevHash: Uint8Array,
): void {
  writeU32(bytes, 0, magic);
  writeU32(bytes, 4, format << 24);
  bytes.set(prevHash, PREV_HASH_OFFSET);
}

/** Closes a container whose header and slices fill `bytes` up to `length`, and copies it. */
export function sealContainer(bytes: Uint8Array, length: number): BuiltContainer {
  writeU32(bytes, LENGTH_OFFSET, length - CONTAINER_HEADER_BYTES);
  writeU32(bytes, CRC_OFFSET, crcOf(bytes, length));
  const value = allocateKept(length + HASH_BYTES);
  value.set(bytes.subarray(0, length));
  const hash = sha256(value.subarray(0, length));
  value.set(hash, length);
  return { value, hash };
}

/** Closes a container that fills `bytes` but for the room of its hash at the end, where it is: for one that is written and let go. */
export function sealInPlace(bytes: Uint8Array): BuiltContainer {
  const length = bytes.byteLength - HASH_BYTES;
  writeU32(bytes, LENGTH_OFFSET, length - CONTAINER_HEADER_BYTES);
  writeU32(bytes, CRC_OFFSET, crcOf(bytes, length));
  const hash = sha256(bytes.subarray(0, length));
  bytes.set(hash, length);
  return { value: bytes, hash };
}

/**
 * What is wrong with a stored container, as the rest of a sentence that begins "…, but"; undefined if nothing is.
 * The crc comes first: it is cheap, and says the same for most damage.
 */
export function findContainerFault(
  value: Uint8Array,
  magic: number,
  format: number,
): string | undefined {
  const end = endOfSlices(value);
  if (end <= CONTAINER_HEADER_BYTES) return `it is cut to ${value.byteLength} bytes`;
  if (readU32(value, 0) !== magic) return "other bytes stand there";
  if (value[4] !== format) return `its format is ${value[4]}`;
  if (value[5] !== 0 || readU16(value, 6) !== 0) return "its flags are unknown";
  if (readU32(value, LENGTH_OFFSET) !== end - CONTAINER_HEADER_BYTES)
    return "its length is another";
  if (readU32(value, CRC_OFFSET) !== crcOf(value, end)) return "its crc32 does not fit";
  if (!equalBytes(value.subarray(end), sha256(value.subarray(0, end))))
    return "its hash does not fit";
  return undefined;
}

/** Where the slices of a container end and its hash begins. */
export function endOfSlices(value: Uint8Array): number {
  return value.byteLength - HASH_BYTES;
}

/** The previous hash of a header, as a view. */
export function prevHashOf(value: Uint8Array): Uint8Array {
  return value.subarray(PREV_HASH_OFFSET, PREV_HASH_OFFSET + HASH_BYTES);
}

function crcOf(bytes: Uint8Array, length: number): number {
  return crc32(
    bytes.subarray(CONTAINER_HEADER_BYTES, length),
    crc32(bytes.subarray(0, CRC_OFFSET)),
  );
}
