/** Fixed-width big-endian numbers in byte arrays, and byte order. */

const TWO_32 = 0x1_0000_0000;

/** Writes an unsigned 16-bit number. */
export function writeU16(bytes: Uint8Array, offset: number, value: number): void {
  bytes[offset] = value >>> 8;
  bytes[offset + 1] = value;
}

/** Writes an unsigned 32-bit number. */
export function writeU32(bytes: Uint8Array, offset: number, value: number): void {
  bytes[offset] = value >>> 24;
  bytes[offset + 1] = value >>> 16;
  bytes[offset + 2] = value >>> 8;
  bytes[offset + 3] = value;
}

/** Writes a safe integer ≥ 0 as an unsigned 64-bit number. */
export function writeU64(bytes: Uint8Array, offset: number, value: number): void {
  writeU32(bytes, offset, Math.floor(value / TWO_32));
  writeU32(bytes, offset + 4, value % TWO_32);
}

/** Reads an unsigned 16-bit number. The caller has checked that it is there. */
export function readU16(bytes: Uint8Array, offset: number): number {
  return (byteAt(bytes, offset) << 8) | byteAt(bytes, offset + 1);
}

/** Reads an unsigned 32-bit number. The caller has checked that it is there. */
export function readU32(bytes: Uint8Array, offset: number): number {
  return (
    byteAt(bytes, offset) * 0x1_00_00_00 +
    ((byteAt(bytes, offset + 1) << 16) |
      (byteAt(bytes, offset + 2) << 8) |
      byteAt(bytes, offset + 3))
  );
}

/** Reads an unsigned 64-bit number; not a safe integer when the stored one is above 2^53 − 1. */
export function readU64(bytes: Uint8Array, offset: number): number {
  return readU32(bytes, offset) * TWO_32 + readU32(bytes, offset + 4);
}

/** Lower-case hex, for messages. */
export function toHex(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("hex");
}

/** Byte order, as the store keeps its keys: negative, zero or positive. */
export function compareBytes(a: Uint8Array, b: Uint8Array): number {
  return Buffer.compare(a, b);
}

/** True if both hold the same bytes. */
export function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.byteLength === b.byteLength && Buffer.compare(a, b) === 0;
}

/** A copy of a part in a buffer of its own. (`slice` of a Node Buffer is a view, not a copy.) */
export function copyBytes(bytes: Uint8Array, start: number, end: number): Uint8Array {
  return new Uint8Array(bytes.subarray(start, end));
}

/**
 * Bytes with undefined content and a buffer of their own. For what is kept: a small slice of Node's shared
 * pool would keep its whole 8 KB page alive.
 */
export function allocateKept(byteLength: number): Uint8Array {
  return Buffer.allocUnsafeSlow(byteLength);
}

function byteAt(bytes: Uint8Array, offset: number): number {
  return bytes[offset] ?? 0;
}
