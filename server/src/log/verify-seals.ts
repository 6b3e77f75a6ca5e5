/**
 * Seals: events of run 0 that carry the hashes of history chunks, so that the chain of segments, which trimming cuts off,
 * also covers what was moved out of them. A chunk that is gone or was replaced, with all its links in order, is found
 * only here.
 */

import { fromBinary } from "@bufbuild/protobuf";
import { type Event, EventSchema, type SealedChunk } from "@pawl/proto/log/v1/event_pb.js";
import { equalBytes, toHex } from "./bytes.js";
import { endOfSlices } from "./container.js";
import { eventsOf } from "./event-frames.js";
import { chunkKey, type RunKey, sweepKey } from "./key.js";
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
 * Runs of which sealed chunks are missing, and runs that the store's own events say are purged. Events come in any order, so what is missing is judged when
 * all were seen.
 */
export class GoneRuns {
  readonly #purged = new Set<number>();
  /** The first missing chunk of each run. */
  readonly #missing = new Map<number, StoreDamaged>();

  /** Runs that were purged. */
  purged(runs: readonly number[]): void {
    for (const run of runs) {
      this.#purged.add(run);
      this.#missing.delete(run);
    }
  }

  /** A chunk of a run is missing. */
  missing(run: number, damage: StoreDamaged): void {
    if (!this.#purged.has(run) && !this.#missing.has(run)) this.#missing.set(run, damage);
  }

  /** What is missing of runs that are neither purged nor being swept. */
  *unexplained(
    store: Pick<Store, "get">,
    partition: number,
  ): Generator<StoreDamaged, void, undefined> {
    for (const [runNumber, damage] of this.#missing) {
      if (!isBeingSwept(store, { partition, runNumber })) yield damage;
    }
  }
}

/** True for a deleted run of which any part may be gone already. */
export function isBeingSwept(store: Pick<Store, "get">, run: RunKey): boolean {
  return run.runNumber !== STORE_RUN && store.get(sweepKey.encode(run)) !== undefined;
}

/** The chunks that are sealed in slices of run 0. Errors: `StoreDamaged` naming the sequence of an event that cannot be read. */
export function* sealsOf(slices: Iterable<EventSlice>): Generator<SealedChunk, void, undefined> {
  for (const slice of slices) {
    for (const { sequence, bytes } of eventsOf(slice)) {
      const { body } = readEvent(bytes, sequence);
      if (body.case === "checkpointSealed") yield* body.value.chunks;
    }
  }
}

/**
 * Checks that every chunk sealed in these slices of run 0 is the one that was sealed; what is missing is told to `gone`. Errors:
 * `StoreDamaged` naming the chunk's key, or the sequence of an event that cannot be read.
 */
export function verifySeals(
  store: Pick<Store, "get">,
  partition: number,
  { slices, gone }: { readonly slices: Iterable<EventSlice>; readonly gone: GoneRuns },
): void {
  for (const slice of slices) {
    for (const { sequence, bytes } of eventsOf(slice)) {
      const { body } = readEvent(bytes, sequence);
      if (body.case === "runPurged") gone.purged(body.value.runs);
      if (body.case !== "checkpointSealed") continue;
      for (const sealed of body.value.chunks) verifySealed({ store, partition, gone }, sealed);
    }
  }
}

function readEvent(bytes: Uint8Array, sequence: number): Event {
  try {
    return fromBinary(EventSchema, bytes);
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

function verifySealed({ store, partition, gone }: SealedIn, sealed: SealedChunk): void {
  const key = chunkKey.encode({ partition, runNumber: sealed.run, chunkNumber: sealed.chunk });
  const value = store.get(key);
  const found = value?.subarray(endOfSlices(value));
  if (found !== undefined && equalBytes(found, sealed.hash)) return;
  const damage = new StoreDamaged(
    `Expected chunk ${sealed.chunk} of run ${sealed.run} with the hash ${toHex(sealed.hash)} that was sealed, ` +
      `but ${found === undefined ? "it is missing" : `its hash is ${toHex(found)}`}`,
    { key: toHex(key) },
  );
  if (found !== undefined) throw damage;
  gone.missing(sealed.run, damage);
}

interface SealedIn {
  readonly store: Pick<Store, "get">;
  readonly partition: number;
  readonly gone: GoneRuns;
}
