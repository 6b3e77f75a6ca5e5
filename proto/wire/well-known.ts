// The two well-known types that Pawl's messages hold, in the form that protoc-gen-pawl-wire gives to others. They are
// written by hand because their files belong to protobuf-es, which generates no code beside ours for them.
import { WireReader } from "./reader.js";
import { takeSharedWriter, type WireWriter } from "./writer.js";

/** Seconds and nanoseconds: the fields of both types. */
interface SecondsAndNanos {
  seconds: bigint;
  nanos: number;
}

/** A plain `google.protobuf.Timestamp`: seconds since 1970-01-01T00:00:00Z, and 0 to 999,999,999 nanoseconds. */
export interface TimestampShape {
  seconds: bigint;
  nanos: number;
}

/** A plain `google.protobuf.Duration`: seconds and nanoseconds, of one sign. */
export interface DurationShape {
  seconds: bigint;
  nanos: number;
}

/** Appends the fields of a `google.protobuf.Timestamp`. */
export function writeTimestamp(w: WireWriter, m: TimestampShape): void {
  write(w, m);
}

/** Reads the fields of a `google.protobuf.Timestamp` up to `end`, which is the reader's limit. */
export function readTimestamp(r: WireReader, end: number): TimestampShape {
  return read(r, end);
}

/** Encodes a `google.protobuf.Timestamp` into bytes of its own. */
export function encodeTimestamp(m: TimestampShape): Uint8Array {
  return encode(m);
}

/** Decodes a `google.protobuf.Timestamp`. */
export function decodeTimestamp(bytes: Uint8Array): TimestampShape {
  return decode(bytes);
}

/** Appends the fields of a `google.protobuf.Duration`. */
export function writeDuration(w: WireWriter, m: DurationShape): void {
  write(w, m);
}

/** Reads the fields of a `google.protobuf.Duration` up to `end`, which is the reader's limit. */
export function readDuration(r: WireReader, end: number): DurationShape {
  return read(r, end);
}

/** Encodes a `google.protobuf.Duration` into bytes of its own. */
export function encodeDuration(m: DurationShape): Uint8Array {
  return encode(m);
}

/** Decodes a `google.protobuf.Duration`. */
export function decodeDuration(bytes: Uint8Array): DurationShape {
  return decode(bytes);
}

function write(w: WireWriter, m: SecondsAndNanos): void {
  if (m.seconds !== 0n) {
    w.tag(8);
    w.int64(m.seconds);
  }
  if (m.nanos !== 0) {
    w.tag(16);
    w.int32(m.nanos);
  }
}

function read(r: WireReader, end: number): SecondsAndNanos {
  let seconds = 0n;
  let nanos = 0;
  while (r.pos < end) {
    const tag = r.tag();
    switch (tag) {
      case 8:
        seconds = r.int64();
        break;
      case 16:
        nanos = r.int32();
        break;
      default:
        r.skip(tag);
    }
  }
  return { seconds, nanos };
}

function encode(m: SecondsAndNanos): Uint8Array {
  const w = takeSharedWriter();
  write(w, m);
  return w.finish();
}

function decode(bytes: Uint8Array): SecondsAndNanos {
  const r = new WireReader(bytes);
  return read(r, r.limit);
}
