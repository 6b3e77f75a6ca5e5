import type { RunStatus, TaskStatus } from "@pawl/proto/v1/run_pb.js";

/** A chunk as a worker emits it. */
export interface EmittedChunk {
  readonly channel: string;
  /** From 1 in its channel, under each lease. */
  readonly number: number;
  /** The encoded `pawl.v1.Payload`. */
  readonly payload: Uint8Array;
}

/** What a reader of live output is given; see `pawl.v1.OutputEntry`. */
export type OutputEntry =
  | {
      readonly kind: "chunk";
      readonly task: string;
      readonly attempt: number;
      readonly leaseVersion: number;
      readonly channel: string;
      readonly number: number;
      readonly dropped: number;
      readonly payload: Uint8Array;
    }
  | {
      readonly kind: "reset";
      /** Empty: all tasks of the run. */
      readonly task: string;
      readonly attempt: number;
      readonly leaseVersion: number;
    }
  | {
      readonly kind: "end";
      /** Empty: the run. */
      readonly task: string;
      readonly taskStatus: TaskStatus;
      readonly runStatus: RunStatus;
      readonly dropped: number;
      readonly forgotten: boolean;
    };

/** The last chunk that a reader has of a channel. */
export interface OutputPlace {
  readonly task: string;
  readonly leaseVersion: number;
  readonly channel: string;
  readonly number: number;
}

/** What a reader wants. */
export interface OutputFilter {
  /** One task; undefined: all. */
  readonly task: string | undefined;
  /** One channel; undefined: all. */
  readonly channel: string | undefined;
  /** What it has already. */
  readonly after: readonly OutputPlace[];
  /** True: only what is there when it begins. */
  readonly once: boolean;
}

/** Someone who reads live output. It holds nothing of it: what is not taken in time is gone, and counted. */
export interface OutputReading {
  /**
   * The next entries, in order; undefined at the end. Waits for them.
   *
   * @param signal gives the waiting up; what it is aborted with is thrown.
   * @throws RejectionError PAWL_UNAVAILABLE when the kernel goes away.
   */
  next(signal: AbortSignal): Promise<readonly OutputEntry[] | undefined>;
  /** Nobody reads any more. */
  close(): void;
}
