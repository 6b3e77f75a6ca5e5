/** Walks the events of a slice: each is its length as a varint and that many bytes of pawl.log.v1.Event. */

import type { EventSlice } from "./segment.js";
import { StoreDamaged } from "./store-errors.js";

/** One event as it is stored. */
export interface EventFrame {
  readonly sequence: number;
  /** Counts the events of its run from 1. */
  readonly eventNumber: number;
  /** The encoded event without its length: a view. */
  readonly bytes: Uint8Array;
}

/** The events of a slice in order. Errors: `StoreDamaged` when the bytes do not hold exactly `count` events. */
export function* eventsOf(slice: EventSlice): Generator<EventFrame, void, undefined> {
  let offset = 0;
  for (let index = 0; index < slice.count; index += 1) {
    const frame = frameAt(slice.bytes, offset);
    if (frame === undefined) throw damagedEvents(slice);
    yield {
      sequence: slice.firstSequence + index,
      eventNumber: slice.firstEventNumber + index,
      bytes: slice.bytes.subarray(frame.start, frame.end),
    };
    offset = frame.end;
  }
  if (offset !== slice.bytes.byteLength) throw damagedEvents(slice);
}

/** Where the event at `offset` ends. Errors: `StoreDamaged` when there is none. */
export function endOfEvent(slice: EventSlice, offset: number): number {
  const frame = frameAt(slice.bytes, offset);
  if (frame === undefined) throw damagedEvents(slice);
  return frame.end;
}

function frameAt(
  bytes: Uint8Array,
  offset: number,
): { readonly start: number; readonly end: number } | undefined {
  let length = 0;
  let scale = 1;
  for (let at = offset; at < offset + 5; at += 1) {
    const byte = bytes[at];
    if (byte === undefined) return undefined;
    length += (byte & 0x7f) * scale;
    if (byte < 0x80) {
      const end = at + 1 + length;
      return end > bytes.byteLength ? undefined : { start: at + 1, end };
    }
    scale *= 128;
  }
  return undefined;
}

/** The error for a slice whose bytes are not its events. */
export function damagedEvents(slice: EventSlice): StoreDamaged {
  return new StoreDamaged(
    `Expected ${slice.count} events from sequence ${slice.firstSequence} on, but their lengths do not add up`,
    { firstBadSequence: slice.firstSequence },
  );
}
