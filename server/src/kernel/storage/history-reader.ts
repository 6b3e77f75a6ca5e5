import type { EventSlice } from "../../log/segment.js";
import type { Store } from "../../log/store.js";
import { decodeEvents } from "../decode-events.js";
import type { StoredEvent, WatchedEvent } from "../kernel-api.js";
import { RejectionError, refuseDeleted } from "../outcome.js";
import type { Residency } from "../residency.js";
import type { Resident } from "../resident.js";
import { ChunkCursor } from "./chunk-cursor.js";
import { EventNames } from "./event-names.js";
import { type EventProof, readProofs } from "./event-proofs.js";
import type { StoredRuns } from "./run-reader.js";

/** What histories are read from. */
export interface HistoryReaderParts {
  readonly store: Store;
  readonly partition: number;
  readonly residency: Residency;
  readonly runs: StoredRuns;
  /** Last durable sequence: `loop.durableSequence`. */
  readonly durableSequence: () => number;
}

/** Bounds of one page. */
const pageEventsMax = 256;
const pageBytesMax = 1024 * 1024;

/** Reads the durable events of one run: from its chunks, then from what is in no chunk yet. */
export class HistoryReader {
  /** Names what events speak of by numbers. */
  readonly names: EventNames;
  readonly #parts: HistoryReaderParts;

  constructor(parts: HistoryReaderParts) {
    this.#parts = parts;
    this.names = new EventNames(parts.runs.source);
  }

  /**
   * Events from number `from` (≥ 1) on, in pages of at most 256 events or 1 MiB (one larger event stands alone), up to what is durable when
   * the last page is read. Nothing for a run that does not exist.
   * @throws StoreDamaged
   */
  async *read(
    number: number,
    from: number,
  ): AsyncGenerator<readonly WatchedEvent[], void, undefined> {
    const cursor = new ChunkCursor(this.#parts.runs, number);
    let next = Math.max(1, from);
    for (;;) {
      const resident = await this.#load(number);
      if (resident === undefined) {
        return;
      }
      if (resident.run.deletion !== undefined) {
        throw new RejectionError(refuseDeleted(resident.run));
      }
      // Without a pause between looking into memory and into the store: what a checkpoint moves is always in one of the two.
      const page = new PageOfEvents(next);
      this.#fill(page, resident, cursor);
      if (page.events.length === 0) {
        return;
      }
      next += page.events.length;
      yield this.names.describe(resident, page.events);
    }
  }

  /** The same from the first event after a place in the log on: what lies before it is not read, but for its own chunk. @throws StoreDamaged */
  async *readAfter(
    number: number,
    sequence: number,
  ): AsyncGenerator<readonly WatchedEvent[], void, undefined> {
    const resident = await this.#load(number);
    if (resident !== undefined) {
      yield* this.read(number, this.#numberAfter(resident, sequence));
    }
  }

  /** Number of an event with all that come after the sequence behind it, at most a chunk or slice too early. */
  #numberAfter({ number, slices, stored }: Resident, sequence: number): number {
    const inMemory = slices.findLast(({ firstSequence }) => firstSequence <= sequence);
    return (
      inMemory?.firstEventNumber ??
      new ChunkCursor(this.#parts.runs, number).numberBefore(
        sequence,
        stored.chunks.nextChunkNumber,
      )
    );
  }

  #fill(page: PageOfEvents, resident: Resident, cursor: ChunkCursor): void {
    const firstInMemory = resident.stored.chunks.nextEventNumber;
    if (page.next < firstInMemory) {
      page.addAll(cursor.chunkWith(page.next, resident.stored.chunks.nextChunkNumber).slices());
      return;
    }
    const durable = this.#parts.durableSequence();
    for (const slice of resident.slices) {
      if (slice.firstSequence > durable || page.isFull) {
        return;
      }
      page.addSlice(slice);
    }
  }

  /** Where the log holds events of one run, by their numbers; one that it holds no more is left out. @throws StoreDamaged */
  async proofs(
    number: number,
    events: readonly number[],
  ): Promise<ReadonlyMap<number, EventProof>> {
    return await readProofs(this.#parts, () => this.#load(number), events);
  }

  async #load(number: number): Promise<Resident | undefined> {
    for (;;) {
      const found = this.#parts.residency.find(number);
      if (!(found instanceof Promise)) {
        return found;
      }
      await found;
    }
  }
}

/** A page in the making: events from one number on, in order. */
class PageOfEvents {
  readonly events: StoredEvent[] = [];
  next: number;
  isFull = false;
  #bytes = 0;

  constructor(next: number) {
    this.next = next;
  }

  addAll(slices: Iterable<EventSlice>): void {
    for (const slice of slices) {
      if (this.isFull) {
        return;
      }
      this.addSlice(slice);
    }
  }

  addSlice(slice: EventSlice): void {
    if (slice.firstEventNumber + slice.count <= this.next) {
      return;
    }
    const bytesEach = slice.bytes.length / slice.count;
    for (const event of decodeEvents(slice)) {
      if (event.number < this.next) {
        continue;
      }
      const isTooLarge = this.#bytes + bytesEach > pageBytesMax && this.events.length > 0;
      if (isTooLarge || this.events.length >= pageEventsMax) {
        this.isFull = true;
        return;
      }
      this.events.push(event);
      this.#bytes += bytesEach;
      this.next++;
    }
  }
}
