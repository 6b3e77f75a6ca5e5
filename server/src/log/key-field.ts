/** The fields that a key is made of. Each keeps the order of its numbers and is injective. */

import { copyBytes, readU16, readU32, readU64, writeU16, writeU32, writeU64 } from "./bytes.js";
import { KeyInvalid } from "./store-errors.js";

/** One kind of field: how a value is measured, written and read. */
export interface KeyField<T> {
  /** Bytes of this value. Throws `KeyInvalid` if the value does not fit the field. */
  measure(value: T, name: string): number;
  /** Writes a measured value and returns the offset behind it. */
  write(bytes: Uint8Array, offset: number, value: T): number;
  /** Reads a value at `offset`, or undefined if there is none that `write` could have made. */
  read(bytes: Uint8Array, offset: number): { readonly value: T; readonly end: number } | undefined;
}

type WriteNumber = (bytes: Uint8Array, offset: number, value: number) => void;
type ReadNumber = (bytes: Uint8Array, offset: number) => number;

/** One byte, 0–255. */
export const u8: KeyField<number> = numberField(1, 0xff, writeU8, readU8);
/** Two bytes, 0–65,535. */
export const u16: KeyField<number> = numberField(2, 0xffff, writeU16, readU16);
/** Four bytes. */
export const u32: KeyField<number> = numberField(4, 0xffff_ffff, writeU32, readU32);
/** Eight bytes; safe integers only. */
export const u64: KeyField<number> = numberField(8, Number.MAX_SAFE_INTEGER, writeU64, readU64);

/** Well-formed text of at most 65,535 bytes of UTF-8, behind its length in two bytes. Sorts by length first. */
export const text: KeyField<string> = {
  measure: measureText,
  write: writeText,
  read: readText,
};

/** A SHA-256: exactly 32 bytes. */
export const sha256Field: KeyField<Uint8Array> = {
  measure: (value, name) => {
    if (value.byteLength === 32) return 32;
    throw new KeyInvalid(`Expected ${name} to be 32 bytes, but it has ${value.byteLength}.`);
  },
  write: (bytes, offset, value) => {
    bytes.set(value, offset);
    return offset + 32;
  },
  read: (bytes, offset) => {
    const end = offset + 32;
    return end > bytes.byteLength ? undefined : { value: copyBytes(bytes, offset, end), end };
  },
};

function numberField(
  width: number,
  max: number,
  writeNumber: WriteNumber,
  readNumber: ReadNumber,
): KeyField<number> {
  return {
    measure: (value, name) => {
      if (Number.isInteger(value) && value >= 0 && value <= max) return width;
      throw new KeyInvalid(
        `Expected ${name} to be an integer from 0 to ${max}, but it is ${value}.`,
      );
    },
    write: (bytes, offset, value) => {
      writeNumber(bytes, offset, value);
      return offset + width;
    },
    read: (bytes, offset) => {
      const end = offset + width;
      if (end > bytes.byteLength) return undefined;
      const value = readNumber(bytes, offset);
      return value > max ? undefined : { value, end };
    },
  };
}

function writeU8(bytes: Uint8Array, offset: number, value: number): void {
  bytes[offset] = value;
}

function readU8(bytes: Uint8Array, offset: number): number {
  return bytes[offset] ?? 0;
}

const loneSurrogate = /\p{Surrogate}/u;
const encoder = new TextEncoder();
// The byte order mark is a letter like any other here: dropping it would make two keys one.
const strictDecoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function measureText(value: string, name: string): number {
  // Encoders turn every lone surrogate into U+FFFD, so two different ids would share one key.
  if (loneSurrogate.test(value)) {
    throw new KeyInvalid(`Expected ${name} to be well-formed text, but it has a lone surrogate.`);
  }
  const length = Buffer.byteLength(value, "utf8");
  if (length <= 0xffff) return length + 2;
  throw new KeyInvalid(`Expected ${name} to have at most 65535 bytes, but it has ${length}.`);
}

function writeText(bytes: Uint8Array, offset: number, value: string): number {
  const { written } = encoder.encodeInto(value, bytes.subarray(offset + 2));
  writeU16(bytes, offset, written);
  return offset + 2 + written;
}

function readText(
  bytes: Uint8Array,
  offset: number,
): { readonly value: string; readonly end: number } | undefined {
  if (offset + 2 > bytes.byteLength) return undefined;
  const start = offset + 2;
  const end = start + readU16(bytes, offset);
  if (end > bytes.byteLength) return undefined;
  try {
    return { value: strictDecoder.decode(bytes.subarray(start, end)), end };
  } catch {
    // Not UTF-8: no key of ours, which is what undefined says.
    return undefined;
  }
}
