import type { RecordedFailure } from "./errors.js";

/** What became of a task that another one needs. */
export type NeededTask<Output = unknown> =
  | { readonly task: string; readonly status: "ok"; readonly value: Output }
  /** It failed for good, and the plan says `onFailure: "continue"`. */
  | { readonly task: string; readonly status: "failed"; readonly error: RecordedFailure }
  /** It never ran, since what it needed itself did not complete, and the plan says `onFailure: "continue"`; or a join did without it. */
  | { readonly task: string; readonly status: "skipped" }
  /** Enough others had ended, so nobody waited for it. It stays missing, in every attempt. */
  | { readonly task: string; readonly status: "missing" };

/** What it means to a task that one that it needs failed or was skipped. */
export type OnNeedFailure =
  /** It does not count. When too few are left that can, the task is skipped. The default. */
  | "skip"
  /** It does not count. When too few are left that can, the task fails. */
  | "fail"
  /** It counts as if it had completed: `ctx.need` says how it ended. */
  | "continue";
