import { WireError } from "./wire-error.js";

// The one host object the codec needs. Declared here, for this module only, because the package is compiled
// without the types of any host; every JavaScript host has it.
declare const TextDecoder: new (
  label: "utf-8",
  options: { fatal: true; ignoreBOM: true },
) => { decode(bytes: Uint8Array): string };

// ignoreBOM, in the words of its specification, *keeps* a leading U+FEFF: a string must come back as it went.
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

// Above this many bytes one call into the host's decoder beats a loop of our own.
const SHORT_BYTES_MAX = 64;

// One array per length, reused: `String.fromCharCode` then builds the string at once, without the chain of
// partial strings that concatenation leaves behind. Decoding is synchronous, so nothing can come between.
const scratch: readonly number[][] = Array.from({ length: SHORT_BYTES_MAX + 1 }, (_, length) =>
  Array.from({ length }, () => 0),
);

/**
 * Decodes the UTF-8 text in `bytes[start, end)`, which the caller has found to be inside `bytes`.
 *
 * @throws WireError `PAWL_WIRE_UTF8` when the bytes are not valid UTF-8 (also overlong forms and encoded surrogates).
 */
export function decodeUtf8(bytes: Uint8Array, start: number, end: number): string {
  const length = end - start;
  if (length === 0) return "";
  const units = scratch[length];
  if (units === undefined) return decodeWithHost(bytes, start, end);
  for (let index = 0; index < length; index++) {
    const byte = bytes[start + index] as number;
    if (byte >= 0x80) return decodeWithHost(bytes, start, end);
    units[index] = byte;
  }
  return String.fromCharCode(...units);
}

function decodeWithHost(bytes: Uint8Array, start: number, end: number): string {
  try {
    return decoder.decode(bytes.subarray(start, end));
  } catch (cause) {
    throw invalidUtf8(start, end - start, cause);
  }
}

/**
 * Number of bytes `text` takes in UTF-8.
 *
 * @throws WireError `PAWL_WIRE_SURROGATE` when a surrogate has no partner; its offset is the index in `text`.
 */
export function utf8ByteLength(text: string): number {
  let length = 0;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (unit < 0x80) length += 1;
    else if (unit < 0x800) length += 2;
    else if (!isSurrogate(unit)) length += 3;
    else {
      if (!isPair(unit, text.charCodeAt(index + 1))) throw loneSurrogate(unit, index);
      length += 4;
      index++;
    }
  }
  return length;
}

/**
 * Writes `text`, whose surrogates `utf8ByteLength` has found to be paired, into `bytes` at `start`, where there
 * is room for it. Returns the position after it.
 */
export function encodeUtf8(text: string, bytes: Uint8Array, start: number): number {
  let pos = start;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (unit < 0x80) {
      bytes[pos++] = unit;
    } else if (unit < 0x800) {
      bytes[pos++] = 0xc0 | (unit >> 6);
      bytes[pos++] = 0x80 | (unit & 0x3f);
    } else if (!isSurrogate(unit)) {
      bytes[pos++] = 0xe0 | (unit >> 12);
      bytes[pos++] = 0x80 | ((unit >> 6) & 0x3f);
      bytes[pos++] = 0x80 | (unit & 0x3f);
    } else {
      index++;
      const point = 0x10000 + ((unit & 0x3ff) << 10) + (text.charCodeAt(index) & 0x3ff);
      bytes[pos++] = 0xf0 | (point >> 18);
      bytes[pos++] = 0x80 | ((point >> 12) & 0x3f);
      bytes[pos++] = 0x80 | ((point >> 6) & 0x3f);
      bytes[pos++] = 0x80 | (point & 0x3f);
    }
  }
  return pos;
}

function isSurrogate(unit: number): boolean {
  return (unit & 0xf800) === 0xd800;
}

// `low` is NaN at the end of the text, and NaN masks to 0.
function isPair(high: number, low: number): boolean {
  return (high & 0xfc00) === 0xd800 && (low & 0xfc00) === 0xdc00;
}

function loneSurrogate(unit: number, index: number): WireError {
  return new WireError(
    "PAWL_WIRE_SURROGATE",
    index,
    `expected well-formed text, but the code unit U+${unit.toString(16).toUpperCase()} has no partner; ` +
      "repair the text with String.prototype.toWellFormed, or send it in a bytes field",
  );
}

function invalidUtf8(offset: number, length: number, cause: unknown): WireError {
  return new WireError(
    "PAWL_WIRE_UTF8",
    offset,
    `expected ${length} bytes of valid UTF-8 in a string field, but they are not; ` +
      "send such content in a bytes field",
    { cause },
  );
}
