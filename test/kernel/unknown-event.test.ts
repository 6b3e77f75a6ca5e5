import { decodeEvents, UnknownEvent } from "@pawl/server/kernel/decode-events.js";
import { expect, test } from "vitest";

test("an event of a type from the future stops whoever reads it, and names its place: it is never passed over", () => {
  // Field 5000, length-delimited and empty, behind a time of 1 ms: an event whose body this build does not know.
  const event = [0x08, 0x01, 0xc2, 0xb8, 0x02, 0x00];
  const slice = {
    firstSequence: 912,
    timeBaseMs: 0,
    firstEventNumber: 7,
    count: 1,
    bytes: Uint8Array.from([event.length, ...event]),
  };
  const read = (): unknown[] => [...decodeEvents(slice)];
  expect(read).toThrow(UnknownEvent);
  expect(read).toThrow(/sequence 912/);
});
