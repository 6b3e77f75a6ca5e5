/** Small segments, chunks and chains that the tests of the log share. */

import { type BuiltSegment, type ChainPoint, SegmentBuilder } from "@pawl/server/log/segment.js";

/** An event as the log keeps it: its length (below 128 here) and that many bytes. */
export function eventBytes(length: number, fill: number): Uint8Array {
  const bytes = new Uint8Array(length + 1).fill(fill);
  bytes[0] = length;
  return bytes;
}

/** `count` events of `length` bytes each, one behind the other. */
export function eventsBytes(count: number, length: number, fill: number): Uint8Array {
  return Uint8Array.from(Array.from({ length: count }, () => [...eventBytes(length, fill)]).flat());
}

/** A built segment, where it begins and where the chain stands behind it. */
export interface SampleSegment extends BuiltSegment {
  readonly firstSequence: number;
  readonly end: ChainPoint;
}

/** A segment of one event for each run number, behind `prev`. */
export function sampleSegment(
  prev: ChainPoint,
  runNumbers: readonly number[],
  eventLength = 5,
): SampleSegment {
  const builder = new SegmentBuilder();
  const firstSequence = prev.sequence + 1;
  builder.begin(firstSequence, 1_700_000_000_000, prev.hash);
  for (const runNumber of runNumbers) {
    const bytes = eventBytes(eventLength, runNumber);
    builder.addSlice({ runNumber, firstEventNumber: 1, count: 1, bytes });
  }
  const built = builder.finish();
  const end = { sequence: prev.sequence + runNumbers.length, hash: built.hash };
  return { ...built, firstSequence, end };
}

/** `count` linked segments behind `prev`, of one event each. */
export function sampleChain(prev: ChainPoint, count: number): readonly SampleSegment[] {
  const chain: SampleSegment[] = [];
  let at = prev;
  for (let index = 0; index < count; index += 1) {
    const segment = sampleSegment(at, [index + 1]);
    chain.push(segment);
    at = segment.end;
  }
  return chain;
}

/** A chain's beginning that belongs to no store. */
export const ORIGIN: ChainPoint = { sequence: 0, hash: new Uint8Array(32) };

/** A copy with one bit turned. */
export function withFlippedBit(bytes: Uint8Array, bit: number): Uint8Array {
  const copy = Uint8Array.from(bytes);
  copy[bit >> 3] = (copy[bit >> 3] ?? 0) ^ (1 << (bit & 7));
  return copy;
}
