import { encodeUtf8, utf8ByteLength } from "./utf8.js";
import { WireError } from "./wire-error.js";

const INITIAL_BYTES = 1024;
const KEPT_BYTES_MAX = 8 * 1024 * 1024;
const BYTES_MAX = 0x7fffffff;
const FLOAT_MAX = 3.4028234663852886e38;
const TWO_TO_32 = 0x1_0000_0000;
// Below this many bytes a loop beats the call of `Uint8Array.prototype.set`.
const LOOP_BYTES_MAX = 32;

/**
 * Writes protobuf's wire format into one growing buffer.
 *
 * The generated `write…` functions drive it; what they write is what any protobuf library reads. A length that
 * is not known beforehand gets one reserved byte, and what follows is moved when the length needs more (`begin`
 * and `end`), so a message is written in one pass.
 *
 * A method that throws leaves the bytes before its call untouched, but a half-written message before it:
 * `truncate` to a position noted earlier, or `reset`.
 *
 * Format: https://protobuf.dev/programming-guides/encoding/
 */
export class WireWriter {
  /** Number of bytes written. Set it only through `truncate` and `reset`. */
  pos: number = 0;
  private buf: Uint8Array;
  private data: DataView;

  /** `initialBytes` (default 1,024) is the first buffer's size; it doubles as needed, up to 2 GiB - 1. */
  constructor(initialBytes: number = INITIAL_BYTES) {
    this.buf = new Uint8Array(initialBytes);
    this.data = new DataView(this.buf.buffer);
  }

  /** Empties the writer. The buffer is kept unless it has grown beyond 8 MiB. */
  reset(): void {
    this.pos = 0;
    if (this.buf.length > KEPT_BYTES_MAX) {
      this.buf = new Uint8Array(INITIAL_BYTES);
      this.data = new DataView(this.buf.buffer);
    }
  }

  /** Drops what was written at and after `pos`, a position noted earlier. */
  truncate(pos: number): void {
    if (!Number.isInteger(pos) || pos < 0 || pos > this.pos) {
      throw this.outOfRange("a position between 0 and the writer's own", pos);
    }
    this.pos = pos;
  }

  /** A copy of what was written. The writer goes on where it is. */
  finish(): Uint8Array {
    return this.buf.slice(0, this.pos);
  }

  /** What was written, without a copy: a view that the next write, `reset` or `truncate` may overwrite. */
  view(): Uint8Array {
    return this.buf.subarray(0, this.pos);
  }

  /** A field's tag, `(field number << 3 | wire type) >>> 0`, computed beforehand. */
  tag(tag: number): void {
    this.reserve(5);
    this.putVarint32(tag);
  }

  /** `uint32`: 0 to 2^32 - 1. */
  varint32(value: number): void {
    if (value >>> 0 !== value) throw this.outOfRange("a uint32", value);
    this.reserve(5);
    this.putVarint32(value);
  }

  /** `int32` and enums. A negative number takes ten bytes, as protobuf demands. */
  int32(value: number): void {
    if ((value | 0) !== value) throw this.outOfRange("an int32", value);
    this.reserve(10);
    if (value >= 0) this.putVarint32(value);
    else this.putVarint64(value, -1);
  }

  /** `sint32`: zigzag, short for small negative numbers. */
  sint32(value: number): void {
    if ((value | 0) !== value) throw this.outOfRange("a sint32", value);
    this.reserve(5);
    this.putVarint32(((value << 1) ^ (value >> 31)) >>> 0);
  }

  /** `uint64`: 0 to 2^64 - 1. */
  uint64(value: bigint): void {
    if (BigInt.asUintN(64, value) !== value) throw this.outOfRange("a uint64", value);
    this.varint64(value);
  }

  /** `int64`. A negative number takes ten bytes. */
  int64(value: bigint): void {
    if (BigInt.asIntN(64, value) !== value) throw this.outOfRange("an int64", value);
    this.varint64(value);
  }

  /** `sint64`: zigzag, short for small negative numbers. */
  sint64(value: bigint): void {
    if (BigInt.asIntN(64, value) !== value) throw this.outOfRange("a sint64", value);
    this.varint64((value << 1n) ^ (value >> 63n));
  }

  /** `bool`. */
  bool(value: boolean): void {
    this.reserve(1);
    this.buf[this.pos++] = value ? 1 : 0;
  }

  /** `fixed32`: 0 to 2^32 - 1 in four bytes. */
  fixed32(value: number): void {
    if (value >>> 0 !== value) throw this.outOfRange("a fixed32", value);
    this.reserve(4);
    this.data.setUint32(this.pos, value, true);
    this.pos += 4;
  }

  /** `sfixed32`: a signed 32-bit integer in four bytes. */
  sfixed32(value: number): void {
    if ((value | 0) !== value) throw this.outOfRange("an sfixed32", value);
    this.reserve(4);
    this.data.setInt32(this.pos, value, true);
    this.pos += 4;
  }

  /** `fixed64`: 0 to 2^64 - 1 in eight bytes. */
  fixed64(value: bigint): void {
    if (BigInt.asUintN(64, value) !== value) throw this.outOfRange("a fixed64", value);
    this.reserve(8);
    this.data.setBigUint64(this.pos, value, true);
    this.pos += 8;
  }

  /** `sfixed64`: a signed 64-bit integer in eight bytes. */
  sfixed64(value: bigint): void {
    if (BigInt.asIntN(64, value) !== value) throw this.outOfRange("an sfixed64", value);
    this.reserve(8);
    this.data.setBigInt64(this.pos, value, true);
    this.pos += 8;
  }

  /** `float`, rounded to 32 bits. A finite number beyond a float's range is refused, infinities are not. */
  float(value: number): void {
    if (Number.isFinite(value) && (value > FLOAT_MAX || value < -FLOAT_MAX)) {
      throw this.outOfRange("a float", value);
    }
    this.reserve(4);
    this.data.setFloat32(this.pos, value, true);
    this.pos += 4;
  }

  /** `double`. */
  double(value: number): void {
    this.reserve(8);
    this.data.setFloat64(this.pos, value, true);
    this.pos += 8;
  }

  /**
   * `string`: its length and its UTF-8 bytes.
   *
   * @throws WireError `PAWL_WIRE_SURROGATE` for a lone surrogate; it never becomes U+FFFD in silence.
   */
  string(text: string): void {
    const length = text.length;
    const lengthBytes = varintSize(length);
    this.reserve(lengthBytes + length);
    const { buf } = this;
    const start = this.pos + lengthBytes;
    for (let index = 0; index < length; index++) {
      const unit = text.charCodeAt(index);
      if (unit >= 0x80) {
        this.wideString(text);
        return;
      }
      buf[start + index] = unit;
    }
    this.putVarint32(length);
    this.pos += length;
  }

  /** `bytes`, and a message that is already encoded: its length and its bytes. */
  bytes(value: Uint8Array): void {
    this.reserve(5 + value.length);
    this.putVarint32(value.length);
    this.put(value);
  }

  /** Appends bytes as they are, without a length: fields that are already encoded with their tags. */
  raw(value: Uint8Array): void {
    this.reserve(value.length);
    this.put(value);
  }

  /** Opens a nested message or a packed field, after its tag: reserves its length. Give the result to `end`. */
  begin(): number {
    this.reserve(1);
    return this.pos++;
  }

  /** Closes what `begin` opened at `at`: fills in the length, moving the content if it takes more than one byte. */
  end(at: number): void {
    const length = this.pos - at - 1;
    if (length >= 0x80) {
      const extraBytes = varintSize(length) - 1;
      this.reserve(extraBytes);
      this.buf.copyWithin(at + 1 + extraBytes, at + 1, this.pos);
    }
    this.pos = at;
    this.putVarint32(length);
    this.pos += length;
  }

  private wideString(text: string): void {
    const length = utf8ByteLength(text);
    this.reserve(5 + length);
    this.putVarint32(length);
    this.pos = encodeUtf8(text, this.buf, this.pos);
  }

  private varint64(value: bigint): void {
    this.reserve(10);
    if (value >= 0n && value <= 0x1f_ffff_ffff_ffffn) {
      const exact = Number(value);
      this.putVarint64(exact | 0, (exact / TWO_TO_32) | 0);
      return;
    }
    this.putVarint64(Number(BigInt.asIntN(32, value)), Number(BigInt.asIntN(32, value >> 32n)));
  }

  private putVarint32(value: number): void {
    const { buf } = this;
    let { pos } = this;
    let rest = value;
    while (rest > 0x7f) {
      buf[pos++] = (rest & 0x7f) | 0x80;
      rest >>>= 7;
    }
    buf[pos++] = rest;
    this.pos = pos;
  }

  // The two halves of a 64-bit number, each as signed 32 bits.
  private putVarint64(low: number, high: number): void {
    const { buf } = this;
    let { pos } = this;
    let lowRest = low;
    let highRest = high;
    while (highRest !== 0 || lowRest >>> 0 > 0x7f) {
      buf[pos++] = (lowRest & 0x7f) | 0x80;
      lowRest = (lowRest >>> 7) | (highRest << 25);
      highRest >>>= 7;
    }
    buf[pos++] = lowRest;
    this.pos = pos;
  }

  private put(value: Uint8Array): void {
    const { buf } = this;
    const { length } = value;
    if (length > LOOP_BYTES_MAX) {
      buf.set(value, this.pos);
    } else {
      const start = this.pos;
      for (let index = 0; index < length; index++) buf[start + index] = value[index] as number;
    }
    this.pos += length;
  }

  private reserve(bytes: number): void {
    if (this.pos + bytes > this.buf.length) this.grow(this.pos + bytes);
  }

  private grow(bytesMin: number): void {
    if (bytesMin > BYTES_MAX) {
      throw new WireError(
        "PAWL_WIRE_TOO_LARGE",
        this.pos,
        `expected at most ${BYTES_MAX} bytes, but ${bytesMin} are needed; split the content`,
      );
    }
    const grown = new Uint8Array(Math.min(BYTES_MAX, Math.max(this.buf.length * 2, bytesMin)));
    grown.set(this.buf);
    this.buf = grown;
    this.data = new DataView(grown.buffer);
  }

  private outOfRange(expected: string, value: number | bigint): WireError {
    return new WireError(
      "PAWL_WIRE_RANGE",
      this.pos,
      `expected ${expected}, but got ${value}; check the value before it is encoded`,
    );
  }
}

// A shared writer is safe because encoding is synchronous: it is empty again before anyone else can ask for it.
const shared = new WireWriter();

/**
 * The one shared writer, emptied. For the generated `encode…` functions, which write and copy out at once; whoever
 * holds a writer across other work makes a `WireWriter` of their own.
 */
export function takeSharedWriter(): WireWriter {
  shared.reset();
  return shared;
}

function varintSize(value: number): number {
  if (value < 0x80) return 1;
  if (value < 0x4000) return 2;
  if (value < 0x200000) return 3;
  return value < 0x10000000 ? 4 : 5;
}
