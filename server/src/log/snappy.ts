/**
 * Decompresses Snappy (google/snappy, format_description.txt), which LevelDB's blocks are written in. Only for looking
 * into its files; LevelDB itself has its own.
 */

/** The decompressed bytes, or undefined if the input is no Snappy block of at most `bytesMax` bytes. */
export function decompressSnappy(input: Uint8Array, bytesMax: number): Uint8Array | undefined {
  const block = new SnappyBlock(input);
  return block.decompress(bytesMax);
}

class SnappyBlock {
  readonly #input: Uint8Array;
  #at = 0;
  #output: Uint8Array = new Uint8Array();
  #written = 0;

  constructor(input: Uint8Array) {
    this.#input = input;
  }

  decompress(bytesMax: number): Uint8Array | undefined {
    const length = this.#varint();
    if (length === undefined || length > bytesMax) return undefined;
    this.#output = new Uint8Array(length);
    while (this.#at < this.#input.byteLength) {
      const tag = this.#number(1) ?? 0;
      const isSound = (tag & 3) === 0 ? this.#literal(tag >> 2) : this.#copy(tag);
      if (!isSound) return undefined;
    }
    return this.#written === length ? this.#output : undefined;
  }

  #literal(code: number): boolean {
    const lengthMinusOne = code < 60 ? code : this.#number(code - 59);
    if (lengthMinusOne === undefined) return false;
    const end = this.#at + lengthMinusOne + 1;
    const fits = this.#written + lengthMinusOne + 1 <= this.#output.byteLength;
    if (end > this.#input.byteLength || !fits) return false;
    this.#output.set(this.#input.subarray(this.#at, end), this.#written);
    this.#at = end;
    this.#written += lengthMinusOne + 1;
    return true;
  }

  #copy(tag: number): boolean {
    const isShort = (tag & 3) === 1;
    const length = isShort ? 4 + ((tag >> 2) & 7) : 1 + (tag >> 2);
    const low = this.#number(isShort ? 1 : (tag & 3) === 2 ? 2 : 4);
    if (low === undefined) return false;
    const distance = isShort ? ((tag >> 5) << 8) | low : low;
    const from = this.#written - distance;
    if (distance === 0 || from < 0 || this.#written + length > this.#output.byteLength)
      return false;
    // Source and target may overlap, which repeats the bytes between them: one at a time.
    for (let index = 0; index < length; index += 1) {
      this.#output[this.#written + index] = this.#output[from + index] ?? 0;
    }
    this.#written += length;
    return true;
  }

  /** A little-endian number of 1 to 4 bytes. */
  #number(width: number): number | undefined {
    if (this.#at + width > this.#input.byteLength) return undefined;
    let value = 0;
    for (let index = width - 1; index >= 0; index -= 1) {
      value = value * 256 + (this.#input[this.#at + index] ?? 0);
    }
    this.#at += width;
    return value;
  }

  #varint(): number | undefined {
    let value = 0;
    for (let scale = 1; scale < 2 ** 35; scale *= 128) {
      const byte = this.#number(1);
      if (byte === undefined) return undefined;
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
    }
    return undefined;
  }
}
