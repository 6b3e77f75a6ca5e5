import type { RewindOutcome } from "@pawl/proto/v1/rewind_pb.js";

/** From where a run goes on. */
export type RewindTo =
  /** After this event of its history, by number: whatever was not over then is open again. From the event that began the present incarnation to the last one. */
  | { readonly event: number }
  /** Before a task began, or before something that its code recorded. */
  | {
      /** Name of the task. It and everything that depends on it are open again. */
      readonly task: string;
      /** Name of a step, wait, operation, approval, call, child or order of its code: what was recorded before the first of that name stays. Default: nothing of the task stays. */
      readonly record?: string;
      /** Key of the record. Default: any. */
      readonly key?: string;
    };

/** What every request to go back may say. */
export interface GoBackOptions {
  /** Why, for people. At most 1,000 bytes. Default: empty. */
  readonly reason?: string;
  /** Version the run must have; when it has another, nothing is changed (`PAWL_STALE_VERSION`). Default: any. */
  readonly expectedVersion?: number;
  /** Tells this request from a second one; sent again, it is answered `existing`. 1 to 200 bytes. Default: one is made. */
  readonly requestId?: string;
  /** True: nothing is changed, and the answer says what would be. Default false. */
  readonly dryRun?: boolean;
}

/** How a run is rewound. */
export interface RewindOptions extends GoBackOptions {
  /** From where it goes on. What names neither an event nor a task is refused with DefinitionInvalid. */
  readonly to: RewindTo;
  /**
   * Effects that were done after the point: `reuse` (default) gives code their results, and calls no sink again. Of another request under the same key a person decides.
   * Another word is refused with DefinitionInvalid.
   */
  readonly effects?: "reuse";
  /**
   * Messages that were taken after the point: `keep` (default) gives them again in their order, `drop` leaves signals out, but not updates: their senders wait for an
   * answer. Another word is refused with DefinitionInvalid.
   */
  readonly messages?: "keep" | "drop";
}

/** What of a run is tried again. */
export interface RetryRunOptions extends GoBackOptions {
  /** Names of failed tasks of its plan. At most 1,000. Default: all that failed. */
  readonly tasks?: readonly string[];
  /** True: tasks that were cancelled are tried again, too. Default false. */
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
  /** What became of it, or would: of each list at most 1,000, and how many are left off. Undefined when `existing`. */
  readonly outcome: RewindOutcome | undefined;
}
