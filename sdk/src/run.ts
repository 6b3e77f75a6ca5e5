import type { Run as RunView, Task as TaskView } from "@pawl/proto/v1/run_pb.js";
import type { Duration } from "./duration.js";
import type { RecordedFailure } from "./errors.js";
import type { SignalAnswer, SignalOptions } from "./messages.js";
import type { OutputEvent, OutputOptions } from "./output.js";
import type {
  NewPlan,
  PlanVersionInfo,
  RevisePlanOptions,
  RevisionAnswer,
  RunPlan,
} from "./plan-versions.js";
import type { Published, PublishedInfo, Query } from "./queries.js";
import type { RetryRunOptions, RewindAnswer, RewindOptions } from "./rewind.js";
import type { Schema } from "./schema.js";
import type { ShownTask, TaskChange, TaskChangeAnswer } from "./task-change.js";
import type { Update, UpdateArguments } from "./updates.js";

/** How long to wait, and what ends the wait. */
export interface WaitOptions {
  /** Give up waiting after this long with `WaitTimedOut`; the run goes on. Default: never. */
  readonly timeout?: Duration;
  /** Gives up waiting when it aborts, with its reason. */
  readonly signal?: AbortSignal;
}

/** Where to watch from. */
export interface WatchOptions {
  /** `position` of an event seen before. Absent: from the run's first event. */
  readonly after?: string;
  /** Ends the watch when it aborts. */
  readonly signal?: AbortSignal;
}

/** How a run is ended, paused or resumed. */
export interface EndOptions {
  /** Why, for people. At most 1,000 bytes. */
  readonly reason?: string;
  /** Version the run must have. Absent: any. */
  readonly expectedVersion?: number;
}

/** How a run is deleted. */
export interface DeleteOptions extends EndOptions {
  /** True: nothing is deleted; it resolves, or is refused, as the deletion would be. Default false. */
  readonly dryRun?: boolean;
}

/** What a deletion came to. */
export interface DeleteAnswer {
  /** True when it had been deleted before: nothing was changed. */
  readonly existing: boolean;
  /** Until when its id cannot begin again. Undefined: for ever. */
  readonly tombstoneUntil: Date | undefined;
}

/** One event of a run. What a type does not use is undefined, or empty. */
export interface RunEvent {
  /** Place in the run, from 1, without gaps. */
  readonly number: number;
  /** Place in the store's log, as a decimal: it may be above 2^53. */
  readonly sequence: string;
  /** When it was recorded, by the kernel's clock. */
  readonly at: Date;
  /** What happened, for example `TaskCompleted`. New types may appear. */
  readonly type: string;
  /** Task it concerns. Empty for the run itself. */
  readonly task: string;
  /** Attempt of the task. 0 when it concerns none. */
  readonly attempt: number;
  /** Operation it concerns. Empty when it concerns none. */
  readonly operationKey: string;
  /** Step it concerns. Empty when it concerns none. */
  readonly step: string;
  /** Review it concerns. Empty when it concerns none. */
  readonly reviewId: string;
  /** Proposal it concerns. Empty when it concerns none. */
  readonly proposalId: string;
  /** Its content, decoded. Undefined when there is none, or when it is stored apart. */
  readonly value: unknown;
  /** Its failure. Undefined when there is none. */
  readonly failure: RecordedFailure | undefined;
  /** A sentence with what else is known. */
  readonly detail: string;
  /** Who asked. Empty for the kernel itself. */
  readonly principal: string;
  /**
   * Where to go on with `watch({ after })`. Only on the last of the events that became durable together: keep the
   * latest one seen. Opaque.
   */
  readonly position: string | undefined;
}

/** Answer to a cancellation, termination, pause or resumption. */
export interface EndAnswer {
  /** True when it had been asked for before, or was so already: nothing was changed. */
  readonly existing: boolean;
  /** Version of the run. */
  readonly version: number;
}

/** One run. The handle costs nothing; the run is in the kernel. */
export interface Run<Output = unknown> {
  /** Id of the run. */
  readonly runId: string;
  /**
   * True when the run existed before this start, with the same workflow and input: nothing was changed. Also true when
   * this start itself was acknowledged but the answer got lost on the way. Undefined for a handle made without a start.
   */
  readonly existing: boolean | undefined;
  /** Which execution under the id. Undefined for a handle made without a start. */
  readonly incarnation: number | undefined;
  /**
   * Waits for the output.
   *
   * @throws RunFailed, RunCancelled, RunTerminated, WaitTimedOut, NotFound, Closed.
   */
  result(options?: WaitOptions): Promise<Output>;
  /**
   * The run's events, in order, without gap or repeat, until the run has ended. Goes on by itself after a lost
   * connection.
   */
  watch(options?: WatchOptions): AsyncIterable<RunEvent>;
  /**
   * What the run's tasks show while they run (`ctx.emit`), until the run has ended, or the one task that was asked for. Goes on by itself after a
   * lost connection. It is in the kernel's memory alone: what this reader misses it is told by number.
   *
   * @param T What the chunks are. Nothing checks it.
   * @throws NotFound.
   */
  output<T = unknown>(options?: OutputOptions): AsyncIterable<OutputEvent<T>>;
  /** Asks the run to stop: what waits is cancelled, what runs is told and has its grace. A repeat is harmless. */
  cancel(options?: EndOptions): Promise<EndAnswer>;
  /**
   * Pauses the run: nothing of it is offered until it is resumed, and an offer that no worker has taken yet is withdrawn. What runs may go on and
   * report; at its next `ctx.perform` it gives its task back, which uses no attempt. A repeat is harmless.
   */
  pause(options?: EndOptions): Promise<EndAnswer>;
  /** Lets a paused run go on; what came due meanwhile happens now. A repeat is harmless; give `expectedVersion`, so that it does not end a later pause. */
  resume(options?: EndOptions): Promise<EndAnswer>;
  /**
   * Sends a named message into the run; resolves when it is durable. It is kept until a task waits for it (`ctx.waitSignal`).
   *
   * @param payload JSON. Absent: none.
   * @throws Rejected `PAWL_RUN_OVER` when the run has ended; Conflict for another message under the same request id; NotFound.
   */
  signal<T = undefined>(name: string, payload?: T, options?: SignalOptions): Promise<SignalAnswer>;
  /**
   * Sends an update into the run, and resolves with what its code accepts it with (`ctx.waitUpdate`). Sent again with the same id and payload it is attached to: nothing
   * happens twice, and the answer is the same, whoever crashes meanwhile.
   *
   * @throws UpdateRefused; Rejected `PAWL_RUN_OVER` (the run has ended, or ended before it answered), `PAWL_ILLEGAL_TRANSITION` (it is paused, or was asked to stop); Conflict for
   *   another payload under the same id; SchemaRefused; WaitTimedOut (the update goes on: wait again by its id); NotFound.
   */
  update<Sent, Input, Returned, Result>(
    update: Update<Sent, Input, Returned, Result>,
    ...args: UpdateArguments<Sent>
  ): Promise<Result>;
  /**
   * Waits for the answer to an update that was sent before, by its id.
   *
   * @param Result What it is accepted with. Nothing checks it.
   * @throws As `update`; NotFound `PAWL_UPDATE_NOT_FOUND` when none with this id was acknowledged.
   */
  updateResult<Result = unknown>(updateId: string, options?: WaitOptions): Promise<Result>;
  /**
   * Reads what the run's code published last under a name (`ctx.publish`): also while no worker runs, and after the run has ended.
   *
   * @throws NotFound `PAWL_QUERY_NOT_FOUND` when nothing is published under it, yet.
   */
  query<T>(query: Query<T>): Promise<Published<T>>;
  /** Reads what is published under a name that is not declared. A schema checks it; without one nothing does. */
  query<T = unknown>(name: string, schema?: Schema<unknown, T>): Promise<Published<T>>;
  /** What the run's code has published, by name, without the values. */
  queries(): Promise<readonly PublishedInfo[]>;
  /**
   * Lets the run go on from an earlier point, as its next generation: effects are reused, never repeated. Without `requestId` each call is another request. A run that has ended is open again; `result()` of a new handle waits for its next end.
   *
   * @throws Rejected `PAWL_OPERATIONS_UNSETTLED`, `PAWL_ROLLED_BACK`, `PAWL_ILLEGAL_TRANSITION`, `PAWL_STALE_VERSION`, `PAWL_INVALID_FIELD`; Conflict for another request under the same request id;
   *   NotFound; DefinitionInvalid.
   */
  rewind(options: RewindOptions): Promise<RewindAnswer>;
  /**
   * Tries again what failed of the run, as its next generation; what is completed is reused. Default: all that failed. Without `requestId` each call is another request.
   *
   * @throws Rejected `PAWL_ILLEGAL_TRANSITION` (nothing failed), `PAWL_ROLLED_BACK`, `PAWL_STALE_VERSION`; Conflict for another request under the same request id; NotFound.
   */
  retry(options?: RetryRunOptions): Promise<RewindAnswer>;
  /** Ends the run at once, without clean-up. A repeat is harmless. */
  terminate(options?: EndOptions): Promise<EndAnswer>;
  /**
   * Deletes the run, which must have ended: nothing of it is served any more, and its id cannot begin again while its tombstone stands. A repeat is harmless.
   *
   * @throws Rejected `PAWL_ILLEGAL_TRANSITION` (it has not ended), `PAWL_LEGAL_HOLD`, `PAWL_OPERATIONS_UNSETTLED`, `PAWL_PROPOSALS_OPEN`, `PAWL_RUN_NEEDED`, `PAWL_STALE_VERSION`; NotFound.
   */
  delete(options?: DeleteOptions): Promise<DeleteAnswer>;
  /** Reads the run: status, version, why it is not finished. */
  get(): Promise<RunView>;
  /**
   * Reads the plan that the run goes by, or an earlier version of it.
   *
   * @param planVersion from 1. Default: the present one.
   * @throws NotFound `PAWL_PLAN_NOT_FOUND` when there is no such version, `PAWL_RUN_NOT_FOUND`.
   */
  plan(planVersion?: number): Promise<RunPlan>;
  /**
   * The versions of its plan in the present incarnation, oldest first, without the plans. At most 1,000.
   *
   * @throws NotFound `PAWL_RUN_NOT_FOUND`.
   */
  planVersions(): Promise<readonly PlanVersionInfo[]>;
  /**
   * Gives the run a new version of its plan. What is the same in it is reused when it is COMPLETED, and goes on undisturbed otherwise; what is changed or removed is superseded; what is new is
   * added. The same again is answered as existing.
   *
   * @throws Rejected `PAWL_STALE_VERSION` (another revision came first: read the plan and revise that), `PAWL_RUN_OVER`, `PAWL_ILLEGAL_TRANSITION` (the run was asked to stop),
   *   `PAWL_INVALID_FIELD`; TooLarge; NotFound.
   */
  revisePlan(plan: NewPlan, options: RevisePlanOptions): Promise<RevisionAnswer>;
  /** Reads one task, with its output. */
  task(name: string): Promise<TaskView>;
  /**
   * Steps in by hand: runs a task now, completes or fails it, gives it its attempts anew, changes its policy. Recorded with who did it and why; the same again
   * is the same.
   *
   * @param shown The task as it was looked at.
   * @throws Rejected `PAWL_STALE_VERSION` (it has changed since: look again), `PAWL_ILLEGAL_TRANSITION` (its state does not allow it), `PAWL_RUN_OVER`; NotFound;
   *   ValueRefused; DefinitionInvalid.
   */
  changeTask(shown: ShownTask, change: TaskChange): Promise<TaskChangeAnswer>;
  /** The tasks in plan order, without outputs. */
  tasks(filter?: { readonly status?: RunTaskStatus }): AsyncIterable<TaskView>;
}

/** A task status to filter by. */
export type RunTaskStatus = TaskView["status"];
