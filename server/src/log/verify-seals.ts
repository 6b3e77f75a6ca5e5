/**
 * Seals: events of run 0 that carry the hashes of history chunks, so that the chain of segments, which trimming cuts off,
 * also covers what was moved out of them. A chunk that is gone or was replaced, with all its links in order, is found
 * only here.
 */

import { fromBinary } from "@bufbuild/protobuf";
import { EventSchema, type SealedChunk } from "@pawl/proto/log/v1/event_pb.js";
import { equalBytes, toHex } from "./bytes.js";
import { endOfSlices } from "./container.js";
import { eventsOf } from "./event-frames.js";
import { chunkKey } from "./key.js";
import type { EventSlice, Segment } from "./segment.js";
import type { Store } from "./store.js";
import { StoreDamaged } from "./store-errors.js";

/** The run whose events are the store's own. */
const STORE_RUN = 0;

/** The slices of a segment that hold the store's own events. */
export function* storeSlicesOf(segment: Segment): Generator<EventSlice, void, undefined> {
  for (const slice of segment.slices()) if (slice.runNumber === STORE_RUN) yield slice;
}

/**
 * Checks that every chunk sealed in these slices of run 0 is stored and is the one that was sealed. Errors:
 * `StoreDamaged` naming the chunk's key, or the sequence of an event that cannot be read.
 */
export function verifySeals(
  store: Pick<Store, "get">,
  partition: number,
  slices: Iterable<EventSlice>,
): void {
  for (const slice of slices) {
    for (const { sequence, bytes } of eventsOf(slice)) {
      for (const sealed of sealedIn(bytes, sequence)) verifySealed(store, partition, sealed);
    }
  }
}

function sealedIn(bytes: Uint8Array, sequence: number): readonly SealedChunk[] {
  try {
    const { body } = fromBinary(EventSchema, bytes);
    return body.case === "checkpointSealed" ? body.value.chunks : [];
  } catch (cause) {
    throw unreadable(sequence, cause);
  }
}

function unreadable(sequence: number, cause: unknown): StoreDamaged {
  return new StoreDamaged(
    "Expected an event of the store, but it cannot be read",
    { firstBadSequence: sequence },
    { cause },
  );
}

function verifySealed(store: Pick<Store, "get">, partition: number, sealed: SealedChunk): void {
  const key = chunkKey.encode({ partition, runNumber: sealed.run, chunkNumber: sealed.chunk });
  const value = store.get(key);
  const found = value?.subarray(endOfSlices(value));
  if (found !== undefined && equalBytes(found, sealed.hash)) return;
  throw new StoreDamaged(
    `Expected chunk ${sealed.chunk} of run ${sealed.run} with the hash ${toHex(sealed.hash)} that was sealed, ` +
      `but ${found === undefined ? "it is missing" : `its hash is ${toHex(found)}`}`,
    { key: toHex(key) },
  );
}
