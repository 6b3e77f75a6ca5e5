import type { Content } from "./content.js";
import type { MustBeJson } from "./rec.js";

/** What may be emitted: JSON, bytes, or a `Content`. */
export type Emitted<T> = T extends Uint8Array | Content ? T : T & MustBeJson<T>;

/** How something is emitted. */
export interface EmitOptions {
  /** Channel, for readers that want only some of it: `"tokens"`. At most 200 bytes, and 64 channels in an attempt. Default: the empty one. */
  readonly channel?: string;
}

/** The last chunk that a reader has of a channel of a task. A chunk that came is one. */
export interface OutputPlace {
  readonly task: string;
  readonly leaseVersion: number;
  readonly channel: string;
  readonly number: number;
}

/** What of the live output is read. */
export interface OutputOptions {
  /** One task: the reading ends with it. Absent: all, until the run has ended. */
  readonly task?: string;
  /** One channel; the empty one is a channel like any other. Absent: all. */
  readonly channel?: string;
  /** What the reader has already: the last chunk of each task and channel. Absent: nothing. */
  readonly after?: readonly OutputPlace[];
  /** True: only what is there now. Default: as it comes, to the end. */
  readonly once?: boolean;
  /** Ends the reading when it aborts. */
  readonly signal?: AbortSignal;
}

/** A chunk of live output. */
export interface OutputChunk<T = unknown> extends OutputPlace {
  readonly kind: "chunk";
  /** Attempt that emitted it, from 1. */
  readonly attempt: number;
  /** What was emitted, decoded. */
  readonly value: T;
}

/** The task begins again, by another attempt or after a wait: what came of it before counts no more. */
export interface OutputReset {
  readonly kind: "reset";
  /** Empty: the run began once more, and this is for all of its tasks. */
  readonly task: string;
  /** The attempt that begins. 0 for a whole run. */
  readonly attempt: number;
  /** The lease version that begins. 0 for a whole run. */
  readonly leaseVersion: number;
}

/** Chunks that this reader does not get: it came late or reads too slowly, or they never reached the kernel. */
export interface OutputDropped {
  readonly kind: "dropped";
  readonly task: string;
  /** The channel. Undefined at the end of the task: of all that were asked for. */
  readonly channel: string | undefined;
  /** How many. */
  readonly count: number;
}

/** How a task or a run has ended. */
export type OutputEndStatus = "completed" | "failed" | "skipped" | "cancelled" | "terminated";

/** No more comes of the task, or of the run. */
export interface OutputEnd {
  readonly kind: "end";
  /** Empty: the run has ended, and with it the reading. */
  readonly task: string;
  readonly status: OutputEndStatus;
  /** True when the kernel has nothing of the task's output any more, or it never emitted: nobody knows whether something was missed. */
  readonly forgotten: boolean;
}

/** What a reader of live output gets, in order. */
export type OutputEvent<T = unknown> = OutputChunk<T> | OutputReset | OutputDropped | OutputEnd;
