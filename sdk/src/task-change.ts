import type { Task as TaskView } from "@pawl/proto/v1/run_pb.js";
import type { RetryOptions, TimeoutOptions } from "./task-options.js";

/** What an operator does about a task, and why (1 to 1,000 bytes). */
export type TaskChange =
  /** Skips a backoff: the next attempt is due now. Only for a task in BACKOFF. */
  | { readonly change: "now"; readonly reason: string }
  /** Completes it in its worker's place; its lease ends, and what needs it goes on. For READY, LEASED, BACKOFF and SUSPENDED. */
  | {
      readonly change: "complete";
      /** JSON. Absent: it has none. */
      readonly output?: unknown;
      readonly reason: string;
    }
  /** Fails it for good, for the reason given. For the same states. */
  | { readonly change: "fail"; readonly reason: string }
  /** Gives it all its attempts anew. For the same states. */
  | { readonly change: "reset"; readonly reason: string }
  | TaskPolicyChange;

/**
 * Changes retry policy, timeouts, or both, of a task that has not ended. What is given takes the place of the plan's as a whole: what it leaves out has
 * its default. It holds from now on; a backoff that has begun stays as it is, and another `lease` holds from the next claim.
 */
export type TaskPolicyChange = {
  readonly change: "policy";
  readonly reason: string;
} & (
  | { readonly retry: RetryOptions; readonly timeouts?: TimeoutOptions }
  | { readonly retry?: RetryOptions; readonly timeouts: TimeoutOptions }
);

/** The task that was looked at before deciding: what `run.task(name)` gave. */
export type ShownTask = Pick<TaskView, "name" | "version">;

/** Answer to a change of a task. */
export interface TaskChangeAnswer {
  /** True when the same change had been made before: nothing was changed. */
  readonly existing: boolean;
  /** Version of the task. */
  readonly version: number;
  /** Its state now. */
  readonly status: TaskView["status"];
}
