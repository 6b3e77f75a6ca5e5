/** What a person may decide. */
export type ReviewChoiceName =
  | "accept"
  | "done"
  | "retry"
  | "not-done"
  | "abandon"
  | "skip"
  | "fail";

/** What a review is about: an effect whose outcome nobody knows, a task that is in trouble, or a run on which the kernel's own code failed. */
export type ReviewSubjectName = "operation" | "task" | "run";

/** An attempt that failed. */
export interface FailedAttemptInfo {
  readonly attempt: number;
  /** Name of the worker that ran it, or to which it was offered. */
  readonly worker: string;
  /** Kind of the failure. */
  readonly kind: string;
  /** Its message, cut at 500 characters. */
  readonly message: string;
  readonly at: Date;
}

/** How a review was resolved. */
export interface ReviewResolution {
  readonly choice: ReviewChoiceName;
  /** Who, as the connection proved. Empty when a late observation settled it. */
  readonly by: string;
  readonly reason: string;
  readonly at: Date;
}

/** Something that waits for a person, or did. */
export interface ReviewInfo {
  /** Id, unique in the store. */
  readonly reviewId: string;
  /** Run it belongs to. Empty for an operation of scope `namespace`. */
  readonly runId: string;
  /** Task that it is about, or that waits for it. Empty when there is none. */
  readonly task: string;
  readonly subject: ReviewSubjectName;
  /** Key of the operation. Empty when it is not about one. */
  readonly operationKey: string;
  /** What is known, as a sentence. */
  readonly known: string;
  /** What may be decided now. None when it is resolved. */
  readonly choices: readonly ReviewChoiceName[];
  readonly openedAt: Date;
  /** Rises with each change; a resolution restates it. */
  readonly version: number;
  /** Undefined while it is open. */
  readonly resolution: ReviewResolution | undefined;
  /** Of a task: its last failed attempts, oldest first, at most 5. */
  readonly failures: readonly FailedAttemptInfo[];
  /** Of a task: attempts used so far, over all resets. */
  readonly attempts: number;
}

/**
 * What a person decides, and why (1 to 1,000 bytes). Legal is what the review's `choices` say.
 *
 * | choice     | an operation                                                                       | a task                                      |
 * | ---------- | ---------------------------------------------------------------------------------- | ------------------------------------------- |
 * | `done`     | it happened, and `result` is what the sink gave                                    | it is complete, with `result` as its output |
 * | `accept`   |                                                                                    | what its code returned stands               |
 * | `retry`    | call again with the same key, whatever became of the earlier calls                 | try again, with all its attempts anew       |
 * | `not-done` | it did not happen: the next attempt calls it; when none can come, it is given up   |                                             |
 * | `abandon`  | give it up; `perform` throws `OperationAbandoned`                                  |                                             |
 * | `skip`     |                                                                                    | complete without an output                  |
 * | `fail`     | give it up, and fail its task for good                                             | fail it for good                            |
 *
 * A run that was set aside goes on with `retry`.
 */
export type ReviewDecision =
  | {
      readonly choice: "done";
      /** JSON. `null` when there is nothing to say. */
      readonly result: unknown;
      readonly reason: string;
    }
  | { readonly choice: Exclude<ReviewChoiceName, "done">; readonly reason: string };

/** Answer to a resolution. */
export interface ReviewAnswer {
  /** True when the same resolution had been recorded before: nothing was changed. */
  readonly existing: boolean;
  /** Version of the review. */
  readonly version: number;
}

/** Which reviews are listed. */
export interface ListReviewsOptions {
  /** Only those of this run. Default: all. */
  readonly runId?: string;
  /** Also resolved ones; only together with `runId`. Default false. */
  readonly includeResolved?: boolean;
}

/** A review was opened, or resolved. */
export interface ReviewChangeInfo {
  readonly reviewId: string;
  /** Run it belongs to. Empty for an operation of scope `namespace`. */
  readonly runId: string;
  /** Task that it is about, or that needed the decision. Empty when there is none. */
  readonly task: string;
  readonly subject: ReviewSubjectName;
  /** Key of the operation. Empty when it is not about one. */
  readonly operationKey: string;
  /** What is known, as a sentence. */
  readonly known: string;
  /** When, by the kernel's clock. */
  readonly at: Date;
  /** Undefined: it was opened. */
  readonly resolution: ReviewResolution | undefined;
  /** Give it as `after` to go on behind this change. Undefined within a group that became durable together, but for the last. */
  readonly position: string | undefined;
}

/** What waits for a person, for those who decide. */
export interface Reviews {
  /** Open reviews, oldest first. */
  list(options?: ListReviewsOptions): AsyncIterable<ReviewInfo>;
  /** One review, also a resolved one. @throws NotFound */
  get(reviewId: string): Promise<ReviewInfo>;
  /**
   * Resolves what was shown; durable when it resolves. The same again is the same.
   *
   * @throws Conflict (it was resolved otherwise), Rejected `PAWL_STALE_VERSION`, `PAWL_ILLEGAL_TRANSITION` (a choice that it does not offer),
   *   `PAWL_TOO_EARLY` (the call may still take effect), NotFound.
   */
  resolve(
    shown: Pick<ReviewInfo, "reviewId" | "version">,
    decision: ReviewDecision,
  ): Promise<ReviewAnswer>;
  /**
   * What happens to reviews, without gaps or repeats, until its signal aborts or the loop is left. Goes on by itself after a lost connection.
   *
   * @throws DefinitionInvalid for `current` together with `after`.
   */
  watch(options?: ReviewWatchOptions): AsyncIterable<ReviewChangeInfo>;
}

/** Where a watch begins. Default: now. */
export interface ReviewWatchOptions {
  /** `position` of a change seen before. */
  readonly after?: string;
  /** First what is open already, then what happens. One that changes in between may be told twice. Default false. */
  readonly current?: boolean;
  /** Ends the watch when it aborts. */
  readonly signal?: AbortSignal;
}
