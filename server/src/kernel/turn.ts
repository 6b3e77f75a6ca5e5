import type { EventSlice } from "../log/segment.js";
import type { Note } from "./notes.js";
import type { Receiver } from "./outcome.js";
import type { Resident } from "./resident.js";

/** What the loop has decided since the last commit began: one segment's worth of events, and who waits for it. */
export class Turn {
  /** Kernel time of its first event; event times are told relative to it. */
  baseMs = 0;
  /** Residents with pending events, in the order they were first changed. */
  readonly touched: Resident[] = [];
  /** Who is to be released when this turn is durable. */
  readonly receivers: Set<Receiver> = new Set();
  /** The slices that its events became, once handed to the store, and whose each is. */
  readonly slices: EventSlice[] = [];
  readonly sliceOwners: Resident[] = [];
  /** What the log is told once this turn is durable; undefined: nothing, as usual. */
  notes: Note[] | undefined = undefined;
  /** Number of events. */
  eventCount = 0;

  get isEmpty(): boolean {
    return this.touched.length === 0 && this.receivers.size === 0;
  }
}
