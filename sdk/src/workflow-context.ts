import type { Call } from "./cancel-mode.js";
import type { TaskContext } from "./context.js";
import type { Operation } from "./operation.js";
import type { TaskRef } from "./task.js";
import type { RetryOptions, TimeoutOptions } from "./task-options.js";

/** How a task is called. What is absent is the task's own default. */
export interface CallOptions {
  /** Tells several calls of one task apart. 1 to 200 bytes. */
  readonly key?: string;
  /** The queue to call it in. */
  readonly queue?: string;
  /** Higher goes first within a queue, 0 to 9. */
  readonly priority?: number;
  /** When it is tried again. */
  readonly retry?: RetryOptions;
  /** Its timeouts. */
  readonly timeouts?: TimeoutOptions;
}

/** What became of one item of a map. */
export type MapItem<Value> =
  | { readonly key: string; readonly status: "ok"; readonly value: Value }
  | { readonly key: string; readonly status: "failed"; readonly error: unknown }
  /** Enough others had succeeded, so nobody waited for it. */
  | { readonly key: string; readonly status: "missing" };

/** True for an item that succeeded; for `filter`. */
export function isOk<Value>(
  item: MapItem<Value>,
): item is Extract<MapItem<Value>, { status: "ok" }> {
  return item.status === "ok";
}

/** How a map goes. */
export interface MapOptions<Item> {
  /** Name of an item, unique in the map: it is part of every name inside. */
  readonly key: (item: Item) => string;
  /** `all` (default): until every item has ended. `{ atLeast: n }`: until n have succeeded; what is left of the others is cancelled. */
  readonly join?: "all" | { readonly atLeast: number };
  /** Items at the same time. Default: all. */
  readonly concurrency?: number;
}

/** The winner of a race: which it was, and what it gave. */
export type Winner<Entries extends Readonly<Record<string, PromiseLike<unknown>>>> = {
  [Name in keyof Entries & string]: {
    readonly winner: Name;
    readonly value: Awaited<Entries[Name]>;
  };
}[keyof Entries & string];

/** What of a rollback is fixed per call. */
export interface RollbackOptions {
  /** What is acted on: an account, a repository. At most 1,024 bytes. */
  readonly target: string;
  /** Tells several rollbacks by one operation apart. 1 to 200 bytes. */
  readonly key?: string;
}

/** What tells changes of one name apart. */
export interface VersionOptions {
  /** Decides anew for each key, as in a loop that goes on for long. 1 to 200 bytes. */
  readonly key?: string;
}

/** What a task takes as arguments of a call. */
export type CallArguments<Sent> = [Sent] extends [undefined]
  ? [input?: undefined, options?: CallOptions]
  : [input: NoInfer<Sent>, options?: CallOptions];

/** What the next incarnation of a run is begun with: what the workflow takes. */
export type ContinueArguments<Sent> = unknown extends Sent
  ? unknown[]
  : [Sent] extends [undefined]
    ? [input?: undefined]
    : [input: NoInfer<Sent>];

/**
 * One execution of a workflow function. It begins again from its top whenever its process or its memory is lost, and is given everything that was recorded, in
 * the order in which it was given the first time; so everything it awaits must come from here.
 */
export interface WorkflowContext<Sent = unknown> extends WorkingContext {
  /**
   * Ends this incarnation of the run and begins the next one with this input, in one step: for what goes on for long or for ever, so that its records do not grow
   * with it. Never resolves: the code is dropped as when it waits. Names, steps, operation keys, timers and questions are new then; labels, the run's timeout, whoever waits for the run, and
   * signals that were not taken go over. Tasks that it called are cancelled, children end as `parentClose` says. Only in a run's own function.
   *
   * @throws PawlError `PAWL_OPEN_CALLS` while steps or operations have not ended; Rejected `PAWL_OPERATIONS_UNSETTLED`, `PAWL_PROPOSALS_OPEN`,
   *   `PAWL_ROLLBACKS_RECORDED` when something is left that the next incarnation could not see to, `PAWL_ILLEGAL_TRANSITION` in a workflow that another one
   *   called. The code may go on then.
   */
  continueAsNew(...input: ContinueArguments<Sent>): Promise<never>;
  /**
   * True once the code has begun 10,000 `ctx` calls in this incarnation: a good time to continue as new. It follows from the code alone, so it is the same at each
   * place however often the code runs again.
   */
  readonly continueSuggested: boolean;
}

/** What a workflow function may do while it is at work. */
export interface WorkingContext
  extends Omit<TaskContext, "dependencies" | "dependency" | "needed" | "need"> {
  /**
   * Calls a task: it joins the run, and any worker that serves it gets it, in any language. Its result is recorded.
   *
   * @throws CallFailed when it failed for good, as often as the code runs again.
   */
  call<Sent, Output>(task: TaskRef<Sent, Output>, ...input: CallArguments<Sent>): Promise<Output>;
  /** The same, with a handle by which the call can be cancelled while the function goes on. */
  startCall<Sent, Output>(task: TaskRef<Sent, Output>, ...input: CallArguments<Sent>): Call<Output>;
  /**
   * Does the same for each item, side by side, and gives what became of them in the order of the items. Names inside are told apart by the map's name and the
   * item's key.
   *
   * @throws JoinFailed when fewer succeeded than `join` asks for. Otherwise a failed item is an entry.
   */
  map<Item, Value>(
    name: string,
    items: readonly Item[],
    options: MapOptions<Item>,
    run: (item: Item, key: string) => Promise<Value>,
  ): Promise<readonly MapItem<Value>[]>;
  /** Waits for all, and gives their values in order; the first failure, in the order in which the code is given them, is thrown at once. */
  all<const Promises extends readonly unknown[]>(
    promises: Promises,
  ): Promise<{ -readonly [K in keyof Promises]: Awaited<Promises[K]> }>;
  /** The first of several to end, well or not; who won is recorded. */
  race<const Entries extends Readonly<Record<string, PromiseLike<unknown>>>>(
    name: string,
    entries: Entries,
  ): Promise<Winner<Entries>>;
  /** The first of several to succeed; who won is recorded. When all fail, an `AggregateError` in the order of the entries. */
  any<const Entries extends Readonly<Record<string, PromiseLike<unknown>>>>(
    name: string,
    entries: Entries,
  ): Promise<Winner<Entries>>;
  /**
   * Records how to undo what was done, at once: an operation and its content, as data. Should the function fail for good, or be cancelled, everything that was recorded so is performed, the
   * latest first, as operations with keys of their own; never before everything in doubt is settled. A function that returns undoes nothing.
   */
  onRollback<Sent, Result>(
    operation: Operation<Sent, Result>,
    payload: NoInfer<Sent>,
    options: RollbackOptions,
  ): void;
  /**
   * Whether this run takes code that was changed: `true` for runs that had not passed this place when the code came, `false` for those whose records go beyond it. The answer is
   * recorded by `id` and never changes for the run; asked again in the same execution it is the same. Keep both branches until no run has `false` on record: code that stops asking
   * such a run fails it with `PAWL_RECORD_MISMATCH`.
   *
   * @param id Name of the change. 1 to 200 bytes.
   */
  version(id: string, options?: VersionOptions): Promise<boolean>;
  /** The time, recorded by name. */
  now(name: string): Promise<Date>;
  /** A random number from 0 (included) to 1, recorded by name. */
  random(name: string): Promise<number>;
  /** A random UUID, recorded by name. */
  uuid(name: string): Promise<string>;
  /** Writes a line for people, once: silent while the code goes over what was recorded. */
  log(message: string): void;
}
