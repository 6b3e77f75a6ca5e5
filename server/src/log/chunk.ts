/**
 * History chunks: a run's own events, out of the segments that they share with other runs, so that a run is read
 * without them and deleted without them. A chunk is a container (`container.ts`) whose numbers and slices are
 *
 * ```
 * 8   run number            8
 * 16  chunk number          4   from 0
 * 20  first event number    4
 * 24  count                 4   events
 * 28  slice count           4
 *
 * slice: first sequence 8 · time base 8 · first event number 4 · count 4 · byte length 4 · events
 * ```
 * The previous hash is that of the run's chunk before, and zero in chunk 0. Slices are those of the segments,
 * verbatim, cut only between events.
 */

import { copyBytes, equalBytes, readU32, readU64, toHex, writeU32, writeU64 } from "./bytes.js";
import {
  type BuiltContainer,
  CONTAINER_HEADER_BYTES,
  endOfSlices,
  findContainerFault,
  HASH_BYTES,
  prevHashOf,
  sealInPlace,
  writeContainerHead,
} from "./container.js";
import { chunkKey, type InPartition } from "./key.js";
import type { EventSlice } from "./segment.js";
import { StoreDamaged, StoreWriteInvalid } from "./store-errors.js";

export { CHUNK_BYTES_MAX, CHUNK_EVENTS_MAX, packChunks } from "./chunk-packing.js";

/** "PWLC". */
const CHUNK_MAGIC = 0x50574c43;
const CHUNK_FORMAT = 0;
const SLICE_HEADER_BYTES = 28;

/** Where a run's history stands: what its next chunk must link to. */
export interface ChunkPoint {
  readonly nextChunkNumber: number;
  readonly nextEventNumber: number;
  /** Hash of the last chunk, or zero. */
  readonly hash: Uint8Array;
}

/** The beginning of every run's history: its first event has number 1. */
export const CHUNK_ORIGIN: ChunkPoint = {
  nextChunkNumber: 0,
  nextEventNumber: 1,
  hash: new Uint8Array(HASH_BYTES),
};

/** A chunk to be written. `slices` follow one another without a gap in event numbers. */
export interface ChunkWrite {
  readonly runNumber: number;
  readonly chunkNumber: number;
  readonly prevHash: Uint8Array;
  readonly slices: readonly EventSlice[];
}

/** One verified chunk. */
export interface Chunk extends InPartition {
  readonly runNumber: number;
  readonly chunkNumber: number;
  readonly firstEventNumber: number;
  /** Events. */
  readonly count: number;
  readonly prevHash: Uint8Array;
  readonly hash: Uint8Array;
  /** The slices in order, made one at a time; their bytes are views of the chunk. */
  slices(): Generator<EventSlice, void, undefined>;
}

/** Builds one chunk. Errors: `StoreWriteInvalid` when the slices are none or do not follow one another. */
export function buildChunk(chunk: ChunkWrite): BuiltContainer {
  const [first] = chunk.slices;
  let length = CONTAINER_HEADER_BYTES;
  let next = first?.firstEventNumber ?? 0;
  for (const slice of chunk.slices) {
    if (slice.firstEventNumber !== next) throw notInRow(next, slice.firstEventNumber);
    next += slice.count;
    length += SLICE_HEADER_BYTES + slice.bytes.byteLength;
  }
  if (first === undefined)
    throw new StoreWriteInvalid("Expected a chunk with a slice, but it has none.");
  const bytes = Buffer.allocUnsafe(length + HASH_BYTES);
  writeContainerHead(bytes, CHUNK_MAGIC, CHUNK_FORMAT, chunk.prevHash);
  writeU64(bytes, 8, chunk.runNumber);
  writeU32(bytes, 16, chunk.chunkNumber);
  writeU32(bytes, 20, first.firstEventNumber);
  writeU32(bytes, 24, next - first.firstEventNumber);
  writeU32(bytes, 28, chunk.slices.length);
  let at = CONTAINER_HEADER_BYTES;
  for (const slice of chunk.slices) {
    writeU64(bytes, at, slice.firstSequence);
    writeU64(bytes, at + 8, slice.timeBaseMs);
    writeU32(bytes, at + 16, slice.firstEventNumber);
    writeU32(bytes, at + 20, slice.count);
    writeU32(bytes, at + 24, slice.bytes.byteLength);
    bytes.set(slice.bytes, at + SLICE_HEADER_BYTES);
    at += SLICE_HEADER_BYTES + slice.bytes.byteLength;
  }
  return sealInPlace(bytes);
}

/**
 * Verifies a stored chunk whole: run and number against the key, lengths, counts, crc and own hash. The link to the
 * chunk before is `verifyChunkLink`'s. Errors: `StoreDamaged` naming the key.
 */
export function readChunk(key: Uint8Array, value: Uint8Array): Chunk {
  const { partition, runNumber, chunkNumber } = chunkKey.decode(key);
  const refuse = (found: string): never => {
    throw new StoreDamaged(`Expected chunk ${chunkNumber} of run ${runNumber}, but ${found}`, {
      key: toHex(key),
    });
  };
  const fault = findContainerFault(value, CHUNK_MAGIC, CHUNK_FORMAT);
  if (fault !== undefined) refuse(fault);
  const chunk = new VerifiedChunk(partition, value);
  if (chunk.runNumber !== runNumber || chunk.chunkNumber !== chunkNumber) {
    refuse(`it is chunk ${chunk.chunkNumber} of run ${chunk.runNumber}`);
  }
  if (!chunk.isComplete()) refuse("its slices do not add up");
  return chunk;
}

/** Checks that `next` follows `prev` in the history of its run. Errors: `StoreDamaged`. */
export function verifyChunkLink(prev: ChunkPoint, next: Chunk): void {
  const isNext =
    next.chunkNumber === prev.nextChunkNumber &&
    next.firstEventNumber === prev.nextEventNumber &&
    equalBytes(next.prevHash, prev.hash);
  if (isNext) return;
  const key = chunkKey.encode(next);
  throw new StoreDamaged(
    `Expected chunk ${prev.nextChunkNumber} of run ${next.runNumber} with event ${prev.nextEventNumber} behind ` +
      `hash ${toHex(prev.hash)}, but found chunk ${next.chunkNumber} with event ${next.firstEventNumber} ` +
      `behind hash ${toHex(next.prevHash)}`,
    { key: toHex(key) },
  );
}

/** What the chunk after this one must link to. */
export function chunkPointOf(chunk: Chunk): ChunkPoint {
  return {
    nextChunkNumber: chunk.chunkNumber + 1,
    nextEventNumber: chunk.firstEventNumber + chunk.count,
    hash: chunk.hash,
  };
}

class VerifiedChunk implements Chunk {
  readonly partition: number;
  readonly runNumber: number;
  readonly chunkNumber: number;
  readonly firstEventNumber: number;
  readonly count: number;
  readonly prevHash: Uint8Array;
  readonly hash: Uint8Array;
  readonly #value: Uint8Array;
  readonly #end: number;

  constructor(partition: number, value: Uint8Array) {
    this.partition = partition;
    this.#value = value;
    this.#end = endOfSlices(value);
    this.runNumber = readU64(value, 8);
    this.chunkNumber = readU32(value, 16);
    this.firstEventNumber = readU32(value, 20);
    this.count = readU32(value, 24);
    // Copies: a kept hash must not keep its whole chunk.
    this.prevHash = copyBytes(prevHashOf(value), 0, HASH_BYTES);
    this.hash = copyBytes(value, this.#end, value.byteLength);
  }

  /** Walks the slices' headers: do they fill the body, follow one another, and hold as many events as it says? */
  isComplete(): boolean {
    const value = this.#value;
    let at = CONTAINER_HEADER_BYTES;
    let slices = 0;
    let next = this.firstEventNumber;
    while (at + SLICE_HEADER_BYTES <= this.#end) {
      if (readU32(value, at + 16) !== next) return false;
      next += readU32(value, at + 20);
      slices += 1;
      at += SLICE_HEADER_BYTES + readU32(value, at + 24);
    }
    const count = next - this.firstEventNumber;
    return at === this.#end && slices === readU32(value, 28) && count === this.count;
  }

  *slices(): Generator<EventSlice, void, undefined> {
    const value = this.#value;
    let at = CONTAINER_HEADER_BYTES;
    while (at < this.#end) {
      const start = at + SLICE_HEADER_BYTES;
      const end = start + readU32(value, at + 24);
      yield {
        firstSequence: readU64(value, at),
        timeBaseMs: readU64(value, at + 8),
        firstEventNumber: readU32(value, at + 16),
        count: readU32(value, at + 20),
        bytes: value.subarray(start, end),
      };
      at = end;
    }
  }
}

function notInRow(expected: number, found: number): StoreWriteInvalid {
  return new StoreWriteInvalid(
    `Expected the slice of event ${expected} next in the chunk, but it begins at event ${found}.`,
  );
}
