import type { Caller, StandingOf } from "./caller.js";
import type { Retention } from "./retention.js";

/** What `decide` may know beyond state and command. All that is not determined by them comes in here. */
export interface DecideContext extends Caller {
  /** Kernel time, in ms since the Unix epoch. Never less than in an earlier command. */
  readonly nowMs: number;
  /** Number of the aggregate that decides; 0 while it is not there yet. Ids of proposals name it. */
  readonly runNumber: number;
  /** Roles that a principal holds now, in a namespace; undefined when it may not act there any more. What rests on it is recorded. */
  readonly standingOf: StandingOf;
  /** The version of a workflow's code that is current now; 0: none is. What rests on it is recorded. */
  readonly currentVersion: (namespace: string, workflow: string) => number;
  /** How long a namespace keeps what. What rests on it is recorded. */
  readonly retentionOf: (namespace: string) => Retention;
  /** A number from 0 (included) to 1; what is drawn is recorded in an event. */
  readonly random: () => number;
  /** SHA-256, for long operation keys and their UUIDs. */
  readonly sha256: (bytes: Uint8Array) => Uint8Array;
}
