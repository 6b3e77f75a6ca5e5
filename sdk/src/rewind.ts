import type { RewindOutcome } from "@pawl/proto/v1/rewind_pb.js";

/** From where a run goes on. */
export type RewindTo =
  /** After this event of its history, by number: whatever was not over then is open again. */
  | { readonly event: number }
  /** Before a task began, or before something that its code recorded. */
  | {
      readonly task: string;
      /** Name of a step, wait, operation, approval, call or child of its code: what was recorded before it stays. Default: the task as a whole. */
      readonly record?: string;
      /** Key of the record. Default: any. */
      readonly key?: string;
    };

/** What every request to go back may say. */
export interface GoBackOptions {
  /** Why, for people. At most 1,000 bytes. */
  readonly reason?: string;
  /** Version the run must have. Default: any. */
  readonly expectedVersion?: number;
  /** Tells this request from a second one; sent again, it is answered `existing`. Default: one is made. */
  readonly requestId?: string;
  /** True: nothing is changed, and the answer says what would be. Default false. */
  readonly dryRun?: boolean;
}

/** How a run is rewound. */
export interface RewindOptions extends GoBackOptions {
  readonly to: RewindTo;
  /** Effects that were done after the point: `reuse` (default) gives code their results, and calls no sink again. */
  readonly effects?: "reuse";
  /** Messages that were taken after the point: `keep` (default) gives them again, `drop` leaves signals out. */
  readonly messages?: "keep" | "drop";
}

/** What of a run is tried again. */
export interface RetryRunOptions extends GoBackOptions {
  /** Names of failed tasks of its plan. Default: all that failed. */
  readonly tasks?: readonly string[];
  /** True: what was cancelled, too. Default false. */
  readonly cancelled?: boolean;
}

/** Answer to a rewind or a retry. */
export interface RewindAnswer {
  /** True when the same request was carried out before: nothing was changed. */
  readonly existing: boolean;
  /** Version of the run. */
  readonly version: number;
  /** Generation of the run: the one that began, or, in a dry run, would. */
  readonly generation: number;
  /** What became of it, or would. Undefined when `existing`. */
  readonly outcome: RewindOutcome | undefined;
}
