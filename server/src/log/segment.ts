/** Reads and verifies segments; `segment-format.ts` has their bytes. */

import { copyBytes, equalBytes, readU32, readU64, toHex } from "./bytes.js";
import {
  CONTAINER_HEADER_BYTES,
  endOfSlices,
  findContainerFault,
  HASH_BYTES,
  prevHashOf,
} from "./container.js";
import { segmentKey } from "./key.js";
import { SEGMENT_FORMAT, SEGMENT_MAGIC, SEGMENT_SLICE_HEADER_BYTES } from "./segment-format.js";
import { StoreDamaged } from "./store-errors.js";

export { type BuiltContainer as BuiltSegment, HASH_BYTES } from "./container.js";
export { SegmentBuilder, type SliceWrite } from "./segment-builder.js";
export { SEGMENT_BYTES_MAX } from "./segment-format.js";

/** The events that one run got in one commit. */
export interface EventSlice {
  /** Sequence of the first event; the others follow without a gap. */
  readonly firstSequence: number;
  readonly timeBaseMs: number;
  /** Number, within the run, of the first event. */
  readonly firstEventNumber: number;
  readonly count: number;
  /** The events, each behind its length: a view of the segment, which it keeps alive. */
  readonly bytes: Uint8Array;
}

/** An `EventSlice` and whose it is. */
export interface SegmentSlice extends EventSlice {
  readonly runNumber: number;
}

/** A place in the chain: the last sequence that it covers and the hash of the segment that holds it. */
export interface ChainPoint {
  readonly sequence: number;
  readonly hash: Uint8Array;
}

/** One verified segment. */
export interface Segment {
  readonly firstSequence: number;
  readonly lastSequence: number;
  /** Events. */
  readonly count: number;
  readonly sliceCount: number;
  readonly timeBaseMs: number;
  readonly prevHash: Uint8Array;
  readonly hash: Uint8Array;
  /** The slices in order, made one at a time. */
  slices(): Generator<SegmentSlice, void, undefined>;
}

/**
 * Verifies a stored segment whole: its sequence against the key, lengths, counts, crc and own hash. The link
 * to the segment before is `verifyLink`'s. Errors: `StoreDamaged` with the first bad sequence.
 */
export function readSegment(key: Uint8Array, value: Uint8Array): Segment {
  const { sequence } = segmentKey.decode(key);
  const refuse = (found: string): never => {
    throw new StoreDamaged(`Expected the segment at sequence ${sequence}, but ${found}`, {
      firstBadSequence: sequence,
      key: toHex(key),
    });
  };
  const fault = findContainerFault(value, SEGMENT_MAGIC, SEGMENT_FORMAT);
  if (fault !== undefined) refuse(fault);
  const segment = new VerifiedSegment(value);
  if (segment.firstSequence !== sequence) refuse(`it begins at ${segment.firstSequence}`);
  if (!segment.isComplete()) refuse("its slices do not add up");
  return segment;
}

/**
 * Checks that `next` follows `prev` in the chain: sequence and hash.
 * Errors: `StoreDamaged` naming the first sequence that is missing or not linked.
 */
export function verifyLink(prev: ChainPoint, next: Segment): void {
  const expected = prev.sequence + 1;
  if (next.firstSequence !== expected) {
    throw new StoreDamaged(
      `Expected sequence ${expected} next in the log, but found ${next.firstSequence}`,
      { firstBadSequence: Math.min(expected, next.firstSequence) },
    );
  }
  if (equalBytes(next.prevHash, prev.hash)) return;
  throw new StoreDamaged(
    `Expected the segment at sequence ${expected} to follow hash ${toHex(prev.hash)}, ` +
      `but it follows ${toHex(next.prevHash)}`,
    { firstBadSequence: expected },
  );
}

/** The place in the chain that a segment ends at: what the next one must link to. */
export function chainPointOf(segment: Segment): ChainPoint {
  return { sequence: segment.lastSequence, hash: segment.hash };
}

class VerifiedSegment implements Segment {
  readonly firstSequence: number;
  readonly count: number;
  readonly sliceCount: number;
  readonly timeBaseMs: number;
  readonly prevHash: Uint8Array;
  readonly hash: Uint8Array;
  readonly #value: Uint8Array;
  readonly #end: number;

  constructor(value: Uint8Array) {
    this.#value = value;
    this.#end = endOfSlices(value);
    this.firstSequence = readU64(value, 8);
    this.timeBaseMs = readU64(value, 16);
    this.count = readU32(value, 24);
    this.sliceCount = readU32(value, 28);
    // Copies: a kept hash must not keep its whole segment.
    this.prevHash = copyBytes(prevHashOf(value), 0, HASH_BYTES);
    this.hash = copyBytes(value, this.#end, value.byteLength);
  }

  get lastSequence(): number {
    return this.firstSequence + this.count - 1;
  }

  /** Walks the slices' headers: do they fill the body, and hold as many events as the header says? */
  isComplete(): boolean {
    let at = CONTAINER_HEADER_BYTES;
    let slices = 0;
    let events = 0;
    while (at + SEGMENT_SLICE_HEADER_BYTES <= this.#end) {
      events += readU32(this.#value, at + 12);
      slices += 1;
      at += SEGMENT_SLICE_HEADER_BYTES + readU32(this.#value, at + 16);
    }
    return at === this.#end && slices === this.sliceCount && events === this.count;
  }

  *slices(): Generator<SegmentSlice, void, undefined> {
    const value = this.#value;
    let at = CONTAINER_HEADER_BYTES;
    let firstSequence = this.firstSequence;
    while (at < this.#end) {
      const count = readU32(value, at + 12);
      const start = at + SEGMENT_SLICE_HEADER_BYTES;
      const end = start + readU32(value, at + 16);
      yield {
        runNumber: readU64(value, at),
        firstSequence,
        timeBaseMs: this.timeBaseMs,
        firstEventNumber: readU32(value, at + 8),
        count,
        bytes: value.subarray(start, end),
      };
      firstSequence += count;
      at = end;
    }
  }
}
