/** Builds segments in one buffer that is kept and grows, so that a commit costs no allocation per slice. */

import { writeU32, writeU64 } from "./bytes.js";
import {
  type BuiltContainer,
  CONTAINER_HEADER_BYTES,
  HASH_BYTES,
  sealContainer,
  writeContainerHead,
} from "./container.js";
import { SEGMENT_FORMAT, SEGMENT_MAGIC, SEGMENT_SLICE_HEADER_BYTES } from "./segment-format.js";
import { StoreWriteInvalid } from "./store-errors.js";

/** The events that one run gets in one commit, already encoded, each behind its length. */
export interface SliceWrite {
  readonly runNumber: number;
  /** Number, within the run, of the first event. */
  readonly firstEventNumber: number;
  /** Events in `bytes`; at least 1. */
  readonly count: number;
  /** Holds the events; copied at once, so a scratch buffer may be passed. */
  readonly bytes: Uint8Array;
  /** Where the events begin in `bytes`; default 0. */
  readonly byteOffset?: number;
  /** How many bytes they take; default up to the end of `bytes`. */
  readonly byteLength?: number;
}

const INITIAL_BYTES = 64 * 1024;
// A rare huge segment must not hold its memory for ever.
const KEPT_BYTES_MAX = 8 * 1024 * 1024;

/**
 * One segment at a time: `begin`, `addSlice` for each run, `finish`. Nothing is kept between segments but
 * the buffer. Errors: `StoreWriteInvalid` when called out of turn or with an empty slice.
 */
export class SegmentBuilder {
  #bytes: Uint8Array = Buffer.allocUnsafeSlow(INITIAL_BYTES);
  #length = 0;
  #events = 0;
  #slices = 0;
  #open = false;

  /** Bytes that the segment would have now; the kernel splits a turn at `SEGMENT_BYTES_MAX`. */
  get byteLength(): number {
    return this.#length + HASH_BYTES;
  }

  /** Events added since `begin`. */
  get count(): number {
    return this.#events;
  }

  /** Starts a segment and forgets an unfinished one. `timeBaseMs` is kernel time in whole ms. */
  begin(firstSequence: number, timeBaseMs: number, prevHash: Uint8Array): void {
    requireSafe("first sequence", firstSequence, 1);
    requireSafe("time base", timeBaseMs, 0);
    if (prevHash.byteLength !== HASH_BYTES) {
      throw new StoreWriteInvalid(
        `Expected a previous hash of ${HASH_BYTES} bytes, but it has ${prevHash.byteLength}.`,
      );
    }
    if (this.#bytes.byteLength > KEPT_BYTES_MAX)
      this.#bytes = Buffer.allocUnsafeSlow(INITIAL_BYTES);
    const bytes = this.#bytes;
    writeContainerHead(bytes, SEGMENT_MAGIC, SEGMENT_FORMAT, prevHash);
    writeU64(bytes, 8, firstSequence);
    writeU64(bytes, 16, timeBaseMs);
    this.#length = CONTAINER_HEADER_BYTES;
    this.#events = 0;
    this.#slices = 0;
    this.#open = true;
  }

  /** Copies one run's events behind the slices that are there. */
  addSlice(slice: SliceWrite): void {
    const start = slice.byteOffset ?? 0;
    const length = slice.byteLength ?? slice.bytes.byteLength - start;
    const fits = start >= 0 && start + length <= slice.bytes.byteLength;
    if (!this.#open || slice.count < 1 || length < slice.count || !fits) {
      throw new StoreWriteInvalid(
        `Expected a begun segment and a slice of at least one event within its bytes, but it has ` +
          `${slice.count} events in ${length} of ${slice.bytes.byteLength} bytes.`,
      );
    }
    requireSafe("run number", slice.runNumber, 0);
    const at = this.#length;
    const end = at + SEGMENT_SLICE_HEADER_BYTES + length;
    this.#reserve(end + HASH_BYTES);
    const bytes = this.#bytes;
    writeU64(bytes, at, slice.runNumber);
    writeU32(bytes, at + 8, slice.firstEventNumber);
    writeU32(bytes, at + 12, slice.count);
    writeU32(bytes, at + 16, length);
    const whole = start === 0 && length === slice.bytes.byteLength;
    bytes.set(
      whole ? slice.bytes : slice.bytes.subarray(start, start + length),
      at + SEGMENT_SLICE_HEADER_BYTES,
    );
    this.#length = end;
    this.#events += slice.count;
    this.#slices += 1;
  }

  /** Closes the segment. The builder is free for the next one at once. */
  finish(): BuiltContainer {
    if (!this.#open || this.#slices === 0) {
      throw new StoreWriteInvalid("Expected a begun segment with a slice, but there is none.");
    }
    this.#open = false;
    writeU32(this.#bytes, 24, this.#events);
    writeU32(this.#bytes, 28, this.#slices);
    return sealContainer(this.#bytes, this.#length);
  }

  #reserve(byteLength: number): void {
    if (byteLength <= this.#bytes.byteLength) return;
    const grown = Buffer.allocUnsafeSlow(Math.max(byteLength, this.#bytes.byteLength * 2));
    grown.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = grown;
  }
}

function requireSafe(what: string, value: number, min: number): void {
  if (Number.isSafeInteger(value) && value >= min) return;
  throw new StoreWriteInvalid(`Expected a ${what} ≥ ${min}, but it is ${value}.`);
}
