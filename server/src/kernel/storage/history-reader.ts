import { type Chunk, chunkPointOf } from "../../log/chunk.js";
import type { EventSlice } from "../../log/segment.js";
import type { Store } from "../../log/store.js";
import { decodeEvents } from "../decode-events.js";
import type { StoredEvent, WatchedEvent } from "../kernel-api.js";
import type { Residency } from "../residency.js";
import type { Resident } from "../resident.js";
import { EventNames } from "./event-names.js";
import type { StoredRuns } from "./run-reader.js";
import { chunkAt } from "./stored-run.js";

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

/** Finds the chunk that holds an event. Chunks follow one another, so the next one is usually the one after the last. */
class ChunkCursor {
  readonly #runs: StoredRuns;
  readonly #run: number;
  #chunk: Chunk | undefined;

  constructor(runs: StoredRuns, run: number) {
    this.#runs = runs;
    this.#run = run;
  }

  /** @param count chunks of the run. */
  chunkWith(event: number, count: number): Chunk {
    const last = this.#chunk;
    const isNext = last !== undefined && chunkPointOf(last).nextEventNumber === event;
    const chunk = isNext
      ? chunkAt(this.#runs.source, this.#run, last.chunkNumber + 1)
      : (this.#held(event) ?? this.#search(event, count));
    this.#chunk = chunk;
    return chunk;
  }

  #held(event: number): Chunk | undefined {
    const held = this.#chunk;
    const isHeld =
      held !== undefined &&
      held.firstEventNumber <= event &&
      event < chunkPointOf(held).nextEventNumber;
    return isHeld ? held : undefined;
  }

  /** First event of the last chunk that begins at a sequence or before it; 1 when none does. */
  numberBefore(sequence: number, count: number): number {
    if (count === 0) {
      return 1;
    }
    return this.#last(count, (chunk) => firstSequenceOf(chunk) <= sequence).firstEventNumber;
  }

  #search(event: number, count: number): Chunk {
    return this.#last(count, ({ firstEventNumber }) => firstEventNumber <= event);
  }

  /** The last of the first `count` (≥ 1) chunks that is early enough; the first, when none is. */
  #last(count: number, isEarly: (chunk: Chunk) => boolean): Chunk {
    let low = 0;
    let high = count - 1;
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (isEarly(chunkAt(this.#runs.source, this.#run, middle))) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    return chunkAt(this.#runs.source, this.#run, low);
  }
}

function firstSequenceOf(chunk: Chunk): number {
  const [first] = chunk.slices();
  return first?.firstSequence ?? 0;
}
