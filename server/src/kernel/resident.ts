import type { EventShape } from "@pawl/proto/log/v1/event_wire.js";
import type { MutableRun } from "../core/state.js";
import { CHUNK_ORIGIN, type ChunkPoint } from "../log/chunk.js";
import type { EventSlice } from "../log/segment.js";

/** What the stored rows of a run say, so that a checkpoint writes and deletes only what differs. Owned by the checkpointer. */
export interface StoredState {
  /** Number of the last event in the rows; 0: no rows yet. */
  readonly event: number;
  /** Where the run's next chunk continues. */
  readonly chunks: ChunkPoint;
  /** Versions of the parts that lie in rows of their own; undefined while all lies in the run row. */
  readonly parts: StoredParts | undefined;
  /** Index rows that stand in the store and may go again (visibility, timer, ready, lease), by key as latin1; each with a number that changes with its value. */
  readonly index: ReadonlyMap<string, number>;
  /** Which incarnation of the run the rows tell of. */
  readonly incarnation: number;
  /** Operation keys that are stored, by number; they stay until the run begins once more. */
  readonly operationKeys: readonly string[];
  /** Proposals whose operation keys are stored; they stay as long. */
  readonly proposalKeys: number;
  /** Bytes of the run row, and of its parts when last written whole. */
  readonly bytes: number;
}

/** Versions of what lies in rows of its own, by number. */
export interface StoredParts {
  readonly tasks: readonly number[];
  readonly operations: readonly number[];
  readonly reviews: readonly number[];
  readonly waits: readonly number[];
  readonly proposals: readonly number[];
  readonly signals: readonly number[];
  readonly inputs: readonly number[];
  readonly obligations: readonly number[];
  /** Steps never change: their number is enough. */
  readonly steps: number;
  /** Nor do versions of a plan. */
  readonly planVersions: number;
}

/** Nothing stored yet. */
export const nothingStored: StoredState = {
  event: 0,
  chunks: CHUNK_ORIGIN,
  parts: undefined,
  index: new Map(),
  incarnation: 0,
  operationKeys: [],
  proposalKeys: 0,
  bytes: 0,
};

/** A run whose state is in memory. */
export class Resident {
  readonly number: number;
  run: MutableRun;
  /** Events of the turn that gathers now; they are in the state already. */
  pending: EventShape[] = [];
  /** Slices of segments, durable or being synced, that are in no chunk yet. In order. */
  slices: EventSlice[];
  /** False once its state could neither be kept nor made anew: then no row is written from it, only its history. */
  isSound = true;
  stored: StoredState;
  /** True while it waits to be taken into a checkpoint. Owned by the checkpointer. */
  isQueued = false;
  /** Turn number of the last change or read; the least is evicted first. */
  lastUsed = 0;

  constructor(number: number, run: MutableRun, stored: StoredState, slices: EventSlice[]) {
    this.number = number;
    this.run = run;
    this.stored = stored;
    this.slices = slices;
  }

  /** Number of the last event that was recorded; the state's own count, unless it is not sound. */
  get recordedEvents(): number {
    const inSlices = this.slices.reduce((sum, slice) => sum + slice.count, 0);
    return this.stored.chunks.nextEventNumber - 1 + inSlices + this.pending.length;
  }

  /** True when rows lag behind the state. */
  get isDirty(): boolean {
    return this.slices.length > 0 || this.pending.length > 0;
  }
}
