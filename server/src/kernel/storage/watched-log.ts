import { invalidField } from "../../core/rejection.js";
import { equalBytes } from "../../log/bytes.js";
import { readLastSegment, readLog } from "../../log/log-reader.js";
import { readMeta } from "../../log/meta.js";
import { type ChainPoint, chainPointOf, type Segment } from "../../log/segment.js";
import type { Store } from "../../log/store.js";
import { decodeEvents } from "../decode-events.js";
import type { StoredEvent, WatchedEvent } from "../kernel-api.js";
import type { Loop } from "../loop.js";
import { RejectionError } from "../outcome.js";
import type { Position } from "../position.js";
import type { Resident } from "../resident.js";
import { matchesFilter, type WatchFilter } from "../watch-hub.js";
import type { HistoryReader } from "./history-reader.js";

/** What the past is read from. */
export interface WatchedLogParts {
  readonly store: Store;
  readonly partition: number;
  readonly loop: Loop;
  readonly history: HistoryReader;
}

/** Which part of the past is wanted: events after a position, through a sequence. */
export interface WatchedRange {
  readonly filter: WatchFilter;
  readonly after: Position;
  readonly through: number;
}

/** A page of the past. */
export interface WatchedPage {
  readonly events: readonly WatchedEvent[];
  readonly bytes: number;
  /** End of the segment that the page comes from; absent for a page of one run's history. */
  readonly position?: Position;
}

/** Estimate of an event's size where its bytes are not at hand. */
const eventBytesEstimate = 256;

/**
 * The durable past of one run, from its own history; or of a namespace, from the log itself.
 * @throws RejectionError PAWL_POSITION_TRIMMED when the log begins after the position.
 */
export async function* readWatched(
  parts: WatchedLogParts,
  range: WatchedRange,
): AsyncGenerator<WatchedPage, void, undefined> {
  const { runNumber } = range.filter;
  if (runNumber === undefined) {
    yield* readNamespace(parts, range);
    return;
  }
  if (range.after.sequence >= range.through) {
    return; // From now on: nothing of its past is wanted.
  }
  for await (const page of parts.history.readAfter(runNumber, range.after.sequence)) {
    const events = page.filter(
      ({ event }) => event.sequence > range.after.sequence && event.sequence <= range.through,
    );
    if (events.length > 0) {
      yield { events, bytes: events.length * eventBytesEstimate };
    }
  }
}

async function* readNamespace(
  parts: WatchedLogParts,
  { filter, after, through }: WatchedRange,
): AsyncGenerator<WatchedPage, void, undefined> {
  const anchor = requireKept(parts, after);
  let read: ChainPoint = after;
  try {
    await requireOwnPosition(parts, after, anchor);
    for await (const segment of readLog(parts.store, { partition: parts.partition, after })) {
      if (segment.firstSequence > through) {
        return;
      }
      yield await readSegmentEvents(parts, segment, filter);
      read = chainPointOf(segment);
    }
  } catch (error) {
    // A reader so slow that the log was trimmed past it meets a gap that is no damage.
    requireKept(parts, read);
    throw error;
  }
  // Trimmed past its end, as one that read all of what was left would be.
  if (read.sequence < through) {
    requireKept(parts, read);
  }
}

/** Where the log begins. @throws RejectionError PAWL_POSITION_TRIMMED when that is after a place. */
function requireKept({ store, partition }: WatchedLogParts, place: ChainPoint): ChainPoint {
  const { anchor } = readMeta(store, partition);
  if (place.sequence >= anchor.sequence) {
    return anchor;
  }
  throw new RejectionError({
    reason: "PAWL_POSITION_TRIMMED",
    message:
      `Expected a position at or after sequence ${anchor.sequence}, where the log begins, but it is at ${place.sequence}. ` +
      "Next: list the runs, then watch from now on.",
  });
}

/**
 * A position must name a segment of this log by its hash: a place within one run's history does not, and one that somebody made up must not
 * pass for damage of the log.
 */
async function requireOwnPosition(
  { store, partition }: WatchedLogParts,
  after: Position,
  anchor: ChainPoint,
): Promise<void> {
  const segment =
    after.sequence === anchor.sequence
      ? undefined
      : await readLastSegment(store, partition, after.sequence);
  const known = segment === undefined ? anchor : chainPointOf(segment);
  if (known.sequence === after.sequence && equalBytes(known.hash, after.hash)) {
    return;
  }
  throw new RejectionError({
    ...invalidField(
      "position",
      "a position that WatchRuns or an acknowledgement gave",
      "one of a single run's history, or of no segment of this log",
    ),
    reason: "PAWL_INVALID_POSITION",
  });
}

async function readSegmentEvents(
  { loop, history }: WatchedLogParts,
  segment: Segment,
  filter: WatchFilter,
): Promise<WatchedPage> {
  const events: WatchedEvent[] = [];
  let bytes = 0;
  for (const slice of segment.slices()) {
    const resident = await load(loop, slice.runNumber);
    if (resident !== undefined && matchesFilter(filter, resident)) {
      // Of what is deleted that alone is told: what it was is told to nobody.
      const isTold = (event: StoredEvent): boolean =>
        resident.run.deletion === undefined || event.body.case === "runDeleted";
      const told = [...decodeEvents(slice)].filter(isTold);
      events.push(...history.names.describe(resident, told));
      bytes += slice.bytes.length;
    }
  }
  return { events, bytes, position: chainPointOf(segment) };
}

async function load(loop: Loop, number: number): Promise<Resident | undefined> {
  if (number === 0) {
    return undefined;
  }
  for (;;) {
    const found = loop.residency.find(number);
    if (!(found instanceof Promise)) {
      return found;
    }
    await found;
  }
}
