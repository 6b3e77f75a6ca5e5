import { writeEvent } from "@pawl/proto/log/v1/event_wire.js";
import { WireWriter } from "@pawl/proto/wire/writer.js";
import { HASH_BYTES } from "../log/container.js";
import { type EventSlice, SEGMENT_BYTES_MAX, SegmentBuilder } from "../log/segment.js";
import { SEGMENT_SLICE_HEADER_BYTES } from "../log/segment-format.js";
import type { Fence, SegmentWrite, Store } from "../log/store.js";
import type { Position } from "./position.js";
import type { Resident } from "./resident.js";
import { withOneMore } from "./short-list.js";
import { Turn } from "./turn.js";

/** A slice of a run is cut here, so that it fits a segment with its headers. */
const sliceBytesMax: number = SEGMENT_BYTES_MAX - 4096;

interface PlacedSlice {
  readonly resident: Resident;
  readonly firstSequence: number;
  readonly firstEventNumber: number;
  readonly count: number;
  readonly byteOffset: number;
  readonly byteLength: number;
}

/** A slice of a segment that was just built. Its view is made only when it is asked for: most wait for their checkpoint, ten thousand at a time. */
class PartOfSegment implements EventSlice {
  readonly firstSequence: number;
  readonly timeBaseMs: number;
  readonly firstEventNumber: number;
  readonly count: number;
  readonly #segment: Uint8Array;
  readonly #start: number;
  readonly #end: number;
  #bytes: Uint8Array | undefined;

  constructor(placed: PlacedSlice, timeBaseMs: number, segment: Uint8Array) {
    this.firstSequence = placed.firstSequence;
    this.timeBaseMs = timeBaseMs;
    this.firstEventNumber = placed.firstEventNumber;
    this.count = placed.count;
    this.#segment = segment;
    this.#start = placed.byteOffset;
    this.#end = placed.byteOffset + placed.byteLength;
  }

  get bytes(): Uint8Array {
    this.#bytes ??= this.#segment.subarray(this.#start, this.#end);
    return this.#bytes;
  }
}

/** Where the log ends. */
export interface Head extends Position {}

/**
 * Turns a turn's events into segments and appends them in one synced batch. One batch is in flight at a time; the kernel's loop sees
 * to that.
 */
export class Committer {
  readonly #store: Store;
  readonly #fence: Fence;
  readonly #builder = new SegmentBuilder();
  readonly #writer = new WireWriter(64 * 1024);
  #placed: PlacedSlice[] = [];
  #segments: SegmentWrite[] = [];
  #pendingHead: Head;
  #turn: Turn = new Turn();

  constructor(store: Store, fence: Fence, head: Head) {
    this.#store = store;
    this.#fence = fence;
    this.#pendingHead = head;
  }

  /** The end of the log when everything handed over is durable. */
  get pendingHead(): Head {
    return this.#pendingHead;
  }

  /**
   * Encodes a turn and hands it to the store. The slices join their residents at once; the promise resolves when they are durable.
   * @returns bytes of the events, and that promise.
   */
  commit(turn: Turn): { readonly bytes: number; readonly durable: Promise<void> } {
    this.#turn = turn;
    this.#begin();
    let bytes = 0;
    for (const resident of turn.touched) {
      bytes += this.#addRun(resident);
    }
    this.#finish();
    const segments = this.#segments;
    this.#segments = [];
    return { bytes, durable: this.#store.append(segments, this.#fence) };
  }

  #begin(): void {
    this.#builder.begin(this.#pendingHead.sequence + 1, this.#turn.baseMs, this.#pendingHead.hash);
  }

  #addRun(resident: Resident): number {
    const writer = this.#writer;
    const events = resident.pending;
    resident.pending = [];
    let firstEventNumber = resident.run.eventCount - events.length + 1;
    let count = 0;
    let bytes = 0;
    writer.reset();
    for (const event of events) {
      const at = writer.begin();
      writeEvent(writer, event);
      writer.end(at);
      count++;
      if (writer.pos >= sliceBytesMax / 2) {
        bytes += this.#addSlice(resident, firstEventNumber, count);
        firstEventNumber += count;
        count = 0;
        writer.reset();
      }
    }
    return count === 0 ? bytes : bytes + this.#addSlice(resident, firstEventNumber, count);
  }

  #addSlice(resident: Resident, firstEventNumber: number, count: number): number {
    const byteLength = this.#writer.pos;
    const builder = this.#builder;
    if (
      builder.count > 0 &&
      builder.byteLength + SEGMENT_SLICE_HEADER_BYTES + byteLength > SEGMENT_BYTES_MAX
    ) {
      this.#finish();
      this.#begin();
    }
    this.#placed.push({
      resident,
      firstSequence: this.#pendingHead.sequence + 1 + builder.count,
      firstEventNumber,
      count,
      byteOffset: builder.byteLength - HASH_BYTES + SEGMENT_SLICE_HEADER_BYTES,
      byteLength,
    });
    builder.addSlice({
      runNumber: resident.number,
      firstEventNumber,
      count,
      bytes: this.#writer.view(),
      byteLength,
    });
    return byteLength;
  }

  #finish(): void {
    const firstSequence = this.#pendingHead.sequence + 1;
    const { count } = this.#builder;
    const { value, hash } = this.#builder.finish();
    this.#segments.push({ firstSequence, value });
    const turn = this.#turn;
    for (const placed of this.#placed) {
      const { resident } = placed;
      const slice = new PartOfSegment(placed, turn.baseMs, value);
      resident.slices = withOneMore(resident.slices, slice);
      turn.slices.push(slice);
      turn.sliceOwners.push(resident);
    }
    this.#placed = [];
    this.#pendingHead = { sequence: firstSequence + count - 1, hash };
  }
}
