import { IdentityError } from "./identity-error.js";

// The core is compiled against the language alone, which has neither TextEncoder nor (before ES2024)
// String.prototype.isWellFormed; both are small enough to stand here.

/** Index (in UTF-16 code units) of the first surrogate without its partner, or -1 when the text is well-formed. */
export function findLoneSurrogate(text: string): number {
  for (let index = 0; index < text.length; index += 1) {
    const point = text.codePointAt(index) ?? 0;
    if (isSurrogate(point)) return index;
    if (point > 0xffff) index += 1;
  }
  return -1;
}

/** Length of the text in UTF-8 bytes. A lone surrogate, which has no UTF-8, counts as the 3 bytes of U+FFFD. */
export function utf8ByteLength(text: string): number {
  let length = text.length;
  for (let index = 0; index < text.length; index += 1) {
    const point = text.codePointAt(index) ?? 0;
    if (point < 0x80) continue;
    if (point < 0x800) {
      length += 1;
    } else {
      // Three bytes for one code unit, or four bytes for the two of a pair: two more either way.
      length += 2;
      if (point > 0xffff) index += 1;
    }
  }
  return length;
}

/**
 * Writes the text as UTF-8 into `target` from `offset` on and gives the offset behind it. `target` must have room
 * for `utf8ByteLength(text)` bytes.
 *
 * @throws IdentityError when the text holds a lone surrogate: a replacement character would make two texts one.
 */
export function writeUtf8(text: string, target: Uint8Array, offset: number): number {
  let at = offset;
  for (let index = 0; index < text.length; index += 1) {
    const point = text.codePointAt(index) ?? 0;
    if (point < 0x80) {
      target[at++] = point;
      continue;
    }
    if (isSurrogate(point)) throw illFormed(index);
    if (point > 0xffff) index += 1;
    at = writeMultiByte(point, target, at);
  }
  return at;
}

/**
 * The text as UTF-8 in an array of its own.
 *
 * @throws IdentityError when the text holds a lone surrogate.
 */
export function encodeUtf8(text: string): Uint8Array {
  const bytes = new Uint8Array(utf8ByteLength(text));
  writeUtf8(text, bytes, 0);
  return bytes;
}

/**
 * Offset of the first byte that no well-formed UTF-8 sequence can have there, or -1. For a sequence that is cut off
 * or interrupted it is the offset of its first byte. (The Unicode Standard, table 3-7: no overlong forms, no
 * surrogates, nothing above U+10FFFF.)
 */
export function findInvalidUtf8(bytes: Uint8Array): number {
  let at = 0;
  while (at < bytes.length) {
    const length = sequenceLength(bytes, at);
    if (length === 0) return at;
    at += length;
  }
  return -1;
}

function sequenceLength(bytes: Uint8Array, at: number): number {
  const lead = bytes[at] ?? 0;
  if (lead < 0x80) return 1;
  const length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  // 80..C1 are continuations and overlong leads; F5..FF lead beyond U+10FFFF.
  if (lead < 0xc2 || lead > 0xf4 || at + length > bytes.length) return 0;
  const [low, high] = secondByteRange(lead);
  const second = bytes[at + 1] ?? 0;
  if (second < low || second > high) return 0;
  for (let index = at + 2; index < at + length; index += 1) {
    if (((bytes[index] ?? 0) & 0xc0) !== 0x80) return 0;
  }
  return length;
}

function secondByteRange(lead: number): readonly [low: number, high: number] {
  if (lead === 0xe0) return [0xa0, 0xbf]; // below: overlong
  if (lead === 0xed) return [0x80, 0x9f]; // above: surrogates
  if (lead === 0xf0) return [0x90, 0xbf]; // below: overlong
  if (lead === 0xf4) return [0x80, 0x8f]; // above: beyond U+10FFFF
  return [0x80, 0xbf];
}

function writeMultiByte(point: number, target: Uint8Array, offset: number): number {
  let at = offset;
  if (point < 0x800) {
    target[at++] = 0xc0 | (point >> 6);
  } else {
    if (point < 0x10000) {
      target[at++] = 0xe0 | (point >> 12);
    } else {
      target[at++] = 0xf0 | (point >> 18);
      target[at++] = 0x80 | ((point >> 12) & 0x3f);
    }
    target[at++] = 0x80 | ((point >> 6) & 0x3f);
  }
  target[at++] = 0x80 | (point & 0x3f);
  return at;
}

function isSurrogate(point: number): boolean {
  return point >= 0xd800 && point <= 0xdfff;
}

function illFormed(index: number): IdentityError {
  return new IdentityError("text", "well-formed Unicode", `a lone surrogate at character ${index}`);
}
