/** Walks bytes that LevelDB wrote: varints and strings behind their length. */

/** Reads on from where it is. Whatever does not fit makes it bad, for good, and reads as 0 or nothing. */
export class ByteCursor {
  readonly #bytes: Uint8Array;
  #at = 0;
  #isBad = false;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** True once something did not fit. */
  get isBad(): boolean {
    return this.#isBad;
  }

  /** True when nothing is left, or nothing can be read any more. */
  get isAtEnd(): boolean {
    return this.#isBad || this.#at >= this.#bytes.byteLength;
  }

  /** A varint of at most 56 bits. (Sequence numbers of LevelDB have 56; file numbers and lengths are safe integers.) */
  varint(): number {
    let value = 0;
    for (let scale = 1; scale < 2 ** 56; scale *= 128) {
      const byte = this.#bytes[this.#at];
      if (byte === undefined) break;
      this.#at += 1;
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
    }
    this.#isBad = true;
    return 0;
  }

  /** The next `length` bytes: a view. */
  take(length: number): Uint8Array {
    const start = this.#at;
    this.#at += length;
    if (this.#at > this.#bytes.byteLength) this.#isBad = true;
    return this.#bytes.subarray(start, this.#at);
  }

  /** A string behind its length: a view. */
  string(): Uint8Array {
    return this.take(this.varint());
  }
}
