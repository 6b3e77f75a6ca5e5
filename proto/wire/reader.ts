import { decodeUtf8 } from "./utf8.js";
import { WireError } from "./wire-error.js";

/** How deep messages may be nested, the outermost counted: the default of protobuf's own libraries. */
export const DEPTH_MAX = 100;

/** The value of an absent bytes field. One object for all: it has no byte that could be changed. */
export const EMPTY_BYTES: Uint8Array = new Uint8Array(0);

const VARINT_BYTES_MAX = 10;
const TWO_TO_32 = 0x1_0000_0000;

/**
 * Reads protobuf's wire format from bytes.
 *
 * The generated `read…` functions drive it. Every read is checked against the innermost open message, so a length
 * that lies is found at once and never reads into the neighbour. Unknown fields are skipped; so is a known field
 * with another wire type than its own, as protobuf prescribes.
 *
 * After a throw the reader is of no further use.
 *
 * Format: https://protobuf.dev/programming-guides/encoding/
 */
export class WireReader {
  /** Offset of the next byte to read. */
  pos: number;
  /** Where the innermost open message ends. A whole input is read by `readX(reader, reader.limit)`. */
  limit: number;
  private readonly buf: Uint8Array;
  private data: DataView | undefined;
  private depth: number;
  private low: number;
  private high: number;

  /** Reads `bytes`, which must not change while values of bytes fields are in use: they are views of it. */
  constructor(bytes: Uint8Array) {
    // A subclass (a host's own buffer type) would spread into every bytes field and slow each access.
    this.buf =
      bytes.constructor === Uint8Array
        ? bytes
        : new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.pos = 0;
    this.limit = bytes.length;
    this.data = undefined;
    this.depth = 1;
    this.low = 0;
    this.high = 0;
  }

  /** The next field's tag, `(field number << 3 | wire type) >>> 0`. Unknown ones go to `skip`, which judges them. */
  tag(): number {
    const { pos } = this;
    if (pos < this.limit) {
      const byte = this.buf[pos] as number;
      if (byte < 0x80) {
        this.pos = pos + 1;
        return byte;
      }
    }
    const tag = this.varint32();
    const bytes = this.pos - pos;
    if (bytes > 5 || (bytes === 5 && (this.buf[this.pos - 1] as number) > 0x0f)) {
      throw new WireError(
        "PAWL_WIRE_TAG",
        pos,
        "expected a tag of at most 32 bits, but it is longer; the bytes are no protobuf message",
      );
    }
    return tag;
  }

  /** `uint32`: a varint cut to its low 32 bits, as protobuf prescribes. */
  varint32(): number {
    const { buf, pos, limit } = this;
    if (pos < limit) {
      const byte = buf[pos] as number;
      if (byte < 0x80) {
        this.pos = pos + 1;
        return byte;
      }
      if (pos + 1 < limit) {
        const second = buf[pos + 1] as number;
        if (second < 0x80) {
          this.pos = pos + 2;
          return (byte & 0x7f) | (second << 7);
        }
      }
    }
    this.varint64();
    return this.low >>> 0;
  }

  /** `int32` and enums. An enum may have a number that this version of the schema does not name. */
  int32(): number {
    return this.varint32() | 0;
  }

  /** `sint32`. */
  sint32(): number {
    const value = this.varint32();
    return (value >>> 1) ^ -(value & 1);
  }

  /** `uint64`. */
  uint64(): bigint {
    this.varint64();
    return this.unsigned64();
  }

  /** `int64`. */
  int64(): bigint {
    this.varint64();
    return this.signed64();
  }

  /** `sint64`. */
  sint64(): bigint {
    this.varint64();
    const sign = -(this.low & 1);
    const low = (this.low >>> 1) | (this.high << 31);
    this.high = (this.high >>> 1) ^ sign;
    this.low = low ^ sign;
    return this.signed64();
  }

  /** `bool`: false only for 0. */
  bool(): boolean {
    this.varint64();
    return this.low !== 0 || this.high !== 0;
  }

  /** `fixed32`. */
  fixed32(): number {
    return this.view().getUint32(this.take(4), true);
  }

  /** `sfixed32`. */
  sfixed32(): number {
    return this.view().getInt32(this.take(4), true);
  }

  /** `fixed64`. */
  fixed64(): bigint {
    return this.view().getBigUint64(this.take(8), true);
  }

  /** `sfixed64`. */
  sfixed64(): bigint {
    return this.view().getBigInt64(this.take(8), true);
  }

  /** `float`. */
  float(): number {
    return this.view().getFloat32(this.take(4), true);
  }

  /** `double`. */
  double(): number {
    return this.view().getFloat64(this.take(8), true);
  }

  /** `string`. Invalid UTF-8 is refused (`PAWL_WIRE_UTF8`); a leading U+FEFF stays. */
  string(): string {
    const start = this.take(this.length());
    return decodeUtf8(this.buf, start, this.pos);
  }

  /**
   * `bytes`, and a message that is kept encoded: a view into the reader's input, not a copy. Whoever keeps it
   * longer than the input copies it (`slice`), or keeps the whole input alive with it.
   */
  bytes(): Uint8Array {
    const length = this.length();
    if (length === 0) return EMPTY_BYTES;
    const start = this.take(length);
    return this.buf.subarray(start, this.pos);
  }

  /** Opens a nested message, after its tag. Returns its end; afterwards `leave` with the end of the outer one. */
  enter(): number {
    this.depth++;
    if (this.depth > DEPTH_MAX) {
      throw new WireError(
        "PAWL_WIRE_DEPTH",
        this.pos,
        `expected at most ${DEPTH_MAX} nested messages, but there are more; flatten the content`,
      );
    }
    return this.openPacked();
  }

  /** Closes a nested message that was read to its end; `end` is the end of the one around it. */
  leave(end: number): void {
    this.depth--;
    this.limit = end;
  }

  /** Opens a packed field, after its tag. Returns its end; afterwards `closePacked` with the message's end. */
  openPacked(): number {
    const start = this.take(this.length());
    this.limit = this.pos;
    this.pos = start;
    return this.limit;
  }

  /** Closes a packed field that was read to its end; `end` is the end of the message around it. */
  closePacked(end: number): void {
    this.limit = end;
  }

  /**
   * Skips the value of an unknown field with this tag.
   *
   * @throws WireError `PAWL_WIRE_TAG` when no field can have the tag, `PAWL_WIRE_GROUP` for a group.
   */
  skip(tag: number): void {
    if (tag >>> 3 === 0) throw this.badTag(tag);
    switch (tag & 7) {
      case 0:
        this.varint64();
        return;
      case 1:
        this.take(8);
        return;
      case 2:
        this.take(this.length());
        return;
      case 5:
        this.take(4);
        return;
      case 3:
      case 4:
        throw new WireError(
          "PAWL_WIRE_GROUP",
          this.pos,
          `expected no groups, but field ${tag >>> 3} is one; send it as a nested message`,
        );
      default:
        throw this.badTag(tag);
    }
  }

  private length(): number {
    const start = this.pos;
    const length = this.varint32();
    // A length that needs more than 32 bits must not pass as its low half.
    if (this.pos - start >= 5 && this.high !== 0) throw this.truncated(this.pos, TWO_TO_32);
    return length;
  }

  /** Moves over `bytes` bytes, which must be there; returns where they start. */
  private take(bytes: number): number {
    const start = this.pos;
    if (bytes > this.limit - start) throw this.truncated(start, bytes);
    this.pos = start + bytes;
    return start;
  }

  /** Reads a varint into `low` and `high`, each as signed 32 bits. Bits beyond the 64th are dropped. */
  private varint64(): void {
    const { buf, limit } = this;
    const start = this.pos;
    let low = 0;
    let high = 0;
    for (let index = 0; index < VARINT_BYTES_MAX; index++) {
      if (start + index >= limit) throw this.truncated(start, index + 1);
      const byte = buf[start + index] as number;
      const bits = byte & 0x7f;
      if (index < 4) low |= bits << (index * 7);
      else if (index > 4) high |= bits << (index * 7 - 32);
      else {
        low |= bits << 28;
        high = bits >>> 4;
      }
      if (byte < 0x80) {
        this.pos = start + index + 1;
        this.low = low;
        this.high = high;
        return;
      }
    }
    throw new WireError(
      "PAWL_WIRE_VARINT",
      start,
      `expected a varint of at most ${VARINT_BYTES_MAX} bytes, but it is longer; the bytes are no protobuf message`,
    );
  }

  private unsigned64(): bigint {
    const { low, high } = this;
    // A safe integer takes the short way: one conversion instead of a shift and an or of bigints.
    if (high >>> 21 === 0) return BigInt(high * TWO_TO_32 + (low >>> 0));
    return (BigInt(high >>> 0) << 32n) | BigInt(low >>> 0);
  }

  private signed64(): bigint {
    const { low, high } = this;
    if (high >>> 21 === 0) return BigInt(high * TWO_TO_32 + (low >>> 0));
    return (BigInt(high) << 32n) | BigInt(low >>> 0);
  }

  // Made on first need: most messages have no field of fixed width.
  private view(): DataView {
    this.data ??= new DataView(this.buf.buffer, this.buf.byteOffset, this.buf.byteLength);
    return this.data;
  }

  private truncated(offset: number, bytes: number): WireError {
    return new WireError(
      "PAWL_WIRE_TRUNCATED",
      offset,
      `expected ${bytes} bytes, but the message that holds them has ${Math.max(0, this.limit - offset)} left; ` +
        "send the message whole",
    );
  }

  private badTag(tag: number): WireError {
    return new WireError(
      "PAWL_WIRE_TAG",
      this.pos,
      `expected a field number above 0 and a wire type of 0, 1, 2 or 5, but got ${tag >>> 3} and ${tag & 7}; ` +
        "the bytes are no protobuf message",
    );
  }
}
