import { decodeUtf8, encodeUtf8, utf8ByteLength } from "../wire/utf8.js";
import { WireError } from "../wire/wire-error.js";

/** So many at once, since arguments of a call have a bound. */
const pieceBytes = 8_192;

/** Bytes as a text that can be changed and turned back. */
export interface ReadBytes {
  readonly text: string;
  /** The bytes of a text that this one was changed to. What was not changed comes back as it was. */
  readonly bytesOf: (text: string) => Uint8Array;
}

/** Reads bytes as UTF-8; what is none as one letter for each byte, U+0000 to U+00FF, so that ASCII in it still reads as it is. */
export function readBytes(bytes: Uint8Array): ReadBytes {
  try {
    return { text: decodeUtf8(bytes, 0, bytes.length), bytesOf: utf8Of };
  } catch (error) {
    if (!(error instanceof WireError)) {
      throw error;
    }
  }
  let text = "";
  for (let from = 0; from < bytes.length; from += pieceBytes) {
    text += String.fromCharCode(...bytes.subarray(from, from + pieceBytes));
  }
  return { text, bytesOf: bytesOfLetters };
}

function utf8Of(text: string): Uint8Array {
  const bytes = new Uint8Array(utf8ByteLength(text));
  encodeUtf8(text, bytes, 0);
  return bytes;
}

function bytesOfLetters(letters: string): Uint8Array {
  const bytes = new Uint8Array(letters.length);
  for (let index = 0; index < letters.length; index++) {
    bytes[index] = letters.charCodeAt(index);
  }
  return bytes;
}
