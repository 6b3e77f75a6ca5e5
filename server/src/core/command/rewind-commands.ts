/** Commands by which a run goes on from an earlier point. */

/** From where a run goes on. */
export type RewindPoint =
  /** After this event of its history. */
  | { readonly case: "event"; readonly event: number }
  /** Before this task began, or before its code recorded something. */
  | {
      readonly case: "task";
      readonly task: string;
      /** What it recorded; undefined: the task as a whole. */
      readonly record: { readonly name: string; readonly key: string | undefined } | undefined;
    };

interface GoBack {
  readonly expectedVersion: number | undefined;
  /** Tells this request from a second one. */
  readonly requestId: string;
  /** SHA-256 of the request. */
  readonly digest: Uint8Array;
  readonly reason: string;
  /** True: nothing changes, and the reply says what would. */
  readonly dryRun: boolean;
}

/** Lets a run go on from an earlier point, as its next generation. */
export interface RewindRun extends GoBack {
  readonly kind: "RewindRun";
  readonly to: RewindPoint;
  /** True: signals that were taken after the point are not given again. */
  readonly dropsMessages: boolean;
}

/** Tries again what failed of a run, as its next generation. */
export interface RetryRun extends GoBack {
  readonly kind: "RetryRun";
  /** Names of tasks of its plan. Empty: all that failed. */
  readonly tasks: readonly string[];
  /** True: tasks that were cancelled, too. */
  readonly cancelled: boolean;
}
