/** Cuts a run's slices into groups that fit in one chunk each. */

import { damagedEvents, endOfEvent } from "./event-frames.js";
import type { EventSlice } from "./segment.js";

/** Events of a chunk, at most. */
export const CHUNK_EVENTS_MAX: number = 256;
/** Bytes of a chunk's events, at most, unless it holds a single larger one. */
export const CHUNK_BYTES_MAX: number = 64 * 1024;

/**
 * Groups slices so that each group is within the bounds of a chunk. A slice that does not fit is cut between events.
 * Errors: `StoreDamaged` when the bytes of such a slice are no events.
 */
export function packChunks(slices: readonly EventSlice[]): readonly (readonly EventSlice[])[] {
  const packing = new Packing();
  for (const slice of slices) packing.add(slice);
  return packing.finish();
}

class Packing {
  readonly #groups: EventSlice[][] = [];
  #group: EventSlice[] = [];
  #events = 0;
  #bytes = 0;

  add(slice: EventSlice): void {
    let rest: EventSlice | undefined = slice;
    while (rest !== undefined) {
      const fitting = this.#fitting(rest);
      if (fitting.count > 0) this.#take(fitting);
      rest = fitting.count === rest.count ? undefined : behind(rest, fitting);
      if (rest !== undefined) this.#next();
    }
  }

  finish(): readonly (readonly EventSlice[])[] {
    if (this.#group.length > 0) this.#next();
    return this.#groups;
  }

  #take(slice: EventSlice): void {
    this.#group.push(slice);
    this.#events += slice.count;
    this.#bytes += slice.bytes.byteLength;
  }

  #next(): void {
    this.#groups.push(this.#group);
    this.#group = [];
    this.#events = 0;
    this.#bytes = 0;
  }

  /** The first events of a slice that the open group has room for; a larger one fits in an empty group. */
  #fitting(slice: EventSlice): EventSlice {
    const eventsMax = CHUNK_EVENTS_MAX - this.#events;
    const bytesMax = CHUNK_BYTES_MAX - this.#bytes;
    if (slice.count <= eventsMax && slice.bytes.byteLength <= bytesMax) return slice;
    let count = 0;
    let length = 0;
    while (count < slice.count && count < eventsMax) {
      const end = endOfEvent(slice, length);
      const isFirstOfGroup = this.#events === 0 && count === 0;
      if (end > bytesMax && !isFirstOfGroup) break;
      length = end;
      count += 1;
    }
    if (count === slice.count && length !== slice.bytes.byteLength) throw damagedEvents(slice);
    return { ...slice, count, bytes: slice.bytes.subarray(0, length) };
  }
}

function behind(slice: EventSlice, first: EventSlice): EventSlice {
  return {
    firstSequence: slice.firstSequence + first.count,
    timeBaseMs: slice.timeBaseMs,
    firstEventNumber: slice.firstEventNumber + first.count,
    count: slice.count - first.count,
    bytes: slice.bytes.subarray(first.bytes.byteLength),
  };
}
