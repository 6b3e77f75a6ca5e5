import type { EventShape } from "@pawl/proto/log/v1/event_wire.js";
import type { MutableRun } from "../core/state.js";
import { CHUNK_ORIGIN, type ChunkPoint } from "../log/chunk.js";
import type { EventSlice } from "../log/segment.js";

/** What the stored rows of a run say, so that a checkpoint writes and deletes only what differs. Owned by the checkpointer. */
export interface StoredState {
  /** Number of the last event in the rows; 0: no rows yet. */
  event: number;
  /** Where the run's next chunk continues. */
  chunks: ChunkPoint;
  /** True when its parts lie in rows of their own. */
  isSplit: boolean;
  /** Keys of index rows that stand in the store (visibility, timer, ready, lease, operation keys), as latin1 strings. */
  indexKeys: ReadonlySet<string>;
  /** Versions of tasks, operations and reviews as stored in rows of their own; number of steps stored. */
  taskVersions: readonly number[];
  operationVersions: readonly number[];
  reviewVersions: readonly number[];
  steps: number;
}

const noKeys: ReadonlySet<string> = new Set();

/** Nothing stored yet. */
export const nothingStored: StoredState = {
  event: 0,
  chunks: CHUNK_ORIGIN,
  isSplit: false,
  indexKeys: noKeys,
  taskVersions: [],
  operationVersions: [],
  reviewVersions: [],
  steps: 0,
};

/** A run whose state is in memory. */
export class Resident {
  readonly number: number;
  run: MutableRun;
  /** Events of the turn that gathers now; they are in the state already. */
  pending: EventShape[] = [];
  /** Slices of segments, durable or being synced, that are in no chunk yet. In order. */
  slices: EventSlice[];
  /** First sequence of the segment that holds the first of `slices`; undefined when there is none. */
  unsavedSinceSequence: number | undefined;
  stored: StoredState;
  /** Turn number of the last change or read; the least is evicted first. */
  lastUsed = 0;

  constructor(number: number, run: MutableRun, stored: StoredState, slices: EventSlice[]) {
    this.number = number;
    this.run = run;
    this.stored = stored;
    this.slices = slices;
    this.unsavedSinceSequence = slices[0]?.firstSequence;
  }

  /** True when rows lag behind the state. */
  get isDirty(): boolean {
    return this.slices.length > 0 || this.pending.length > 0;
  }
}
