/** Reads the log of a store in order, verifying every segment and every link. */

import { equalBytes, toHex } from "./bytes.js";
import { keyAfter, segmentKey } from "./key.js";
import type { StoreMeta } from "./meta.js";
import { type ChainPoint, readSegment, type Segment, verifyLink } from "./segment.js";
import type { Store } from "./store.js";
import { StoreDamaged } from "./store-errors.js";
import { readPages } from "./store-scan.js";

/** Segments read at once: at most 16 MiB, as one is at most 1 MiB but for a single large event. */
const PAGE_SEGMENTS = 16;

/** Which log, and behind which point. */
export interface LogRange {
  readonly partition: number;
  /** The first segment read must link to this point. */
  readonly after: ChainPoint;
}

/**
 * The segments behind a point, to the head. Errors: `StoreDamaged` at the first one that is not as written or does not
 * link, naming the sequence; what came before it was sound.
 */
export async function* readLog(
  store: Store,
  { partition, after }: LogRange,
): AsyncGenerator<Segment, void, undefined> {
  let point = after;
  const gte = segmentKey.encode({ partition, sequence: after.sequence + 1 });
  const { lt } = segmentKey.range({ partition });
  for await (const page of readPages(store, { gte, lt }, PAGE_SEGMENTS)) {
    for (const { key, value } of page) {
      const segment = readSegment(key, value);
      verifyLink(point, segment);
      point = { sequence: segment.lastSequence, hash: segment.hash };
      yield segment;
    }
  }
}

/** The last segment up to a sequence (default: the head), or undefined if there is none. */
export async function readLastSegment(
  store: Store,
  partition: number,
  sequence: number = Number.MAX_SAFE_INTEGER,
): Promise<Segment | undefined> {
  const { gte } = segmentKey.range({ partition });
  const lt = keyAfter(segmentKey.encode({ partition, sequence }));
  const [last] = await store.read({ gte, lt, reverse: true, limit: 1 });
  return last === undefined ? undefined : readSegment(last.key, last.value);
}

/**
 * Checks that the log reaches the horizon and has its hash there, that the anchor does not lie behind it, and that the
 * head is sound. Errors: `StoreDamaged`.
 */
export async function verifyHorizon(
  store: Store,
  partition: number,
  { horizon, anchor }: Pick<StoreMeta, "horizon" | "anchor">,
): Promise<void> {
  if (anchor.sequence > horizon.sequence) {
    throw new StoreDamaged(
      `Expected the log to be trimmed up to the horizon ${horizon.sequence} at most, but it is up to ${anchor.sequence}`,
      { firstBadSequence: horizon.sequence + 1 },
    );
  }
  const held = await readLastSegment(store, partition, horizon.sequence);
  const point = held === undefined ? anchor : { sequence: held.lastSequence, hash: held.hash };
  if (point.sequence !== horizon.sequence) {
    throw new StoreDamaged(
      `Expected a segment that ends at the horizon ${horizon.sequence}, but found one that ends at ${point.sequence}`,
      { firstBadSequence: Math.min(point.sequence, horizon.sequence) + 1 },
    );
  }
  if (!equalBytes(point.hash, horizon.hash)) {
    throw new StoreDamaged(
      `Expected hash ${toHex(horizon.hash)} at the horizon ${horizon.sequence}, but found ${toHex(point.hash)}`,
      { firstBadSequence: horizon.sequence },
    );
  }
  await readLastSegment(store, partition);
}
