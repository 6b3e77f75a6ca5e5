import { readEvent } from "@pawl/proto/log/v1/event_wire.js";
import { WireReader } from "@pawl/proto/wire/reader.js";
import { eventsOf } from "../log/event-frames.js";
import type { EventSlice } from "../log/segment.js";
import type { StoredEvent } from "./kernel-api.js";

/** The events of a slice, decoded. Their payloads are views of the slice. Throws for damage and for an event type from a newer kernel. */
export function* decodeEvents(slice: EventSlice): Generator<StoredEvent, void, undefined> {
  let offset = 0;
  for (const frame of eventsOf(slice)) {
    const event = readEvent(new WireReader(frame.bytes), frame.bytes.length);
    const { body } = event;
    if (body.case === undefined) {
      throw new UnknownEvent(slice.firstSequence + offset);
    }
    yield {
      sequence: slice.firstSequence + offset,
      number: slice.firstEventNumber + offset,
      atMs: slice.timeBaseMs + event.deltaMs,
      body,
    };
    offset++;
  }
}

/** An event of a type that this kernel does not know: it was written by a newer one. It is never skipped. */
export class UnknownEvent extends Error {
  readonly code = "PAWL_STORE_NEWER";
  constructor(sequence: number) {
    super(
      `Expected the event at sequence ${sequence} to be of a known type, but it is not. Open the store with the kernel that wrote it, or a later one.`,
    );
    this.name = "UnknownEvent";
  }
}
