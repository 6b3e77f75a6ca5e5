import type { ApproveOptions, Said } from "./approval.js";
import type { ChildOptions, ChildRun } from "./children.js";
import type { StartArguments, Startable } from "./connect.js";
import type { Duration } from "./duration.js";
import type { Answer, AskOptions, SignalReceived, SignalWaitOptions } from "./messages.js";
import type { NeededTask } from "./needed-task.js";
import type { Operation } from "./operation.js";
import type { RunAskedToStop, RunSignalled, TellRunOptions } from "./other-runs.js";
import type { EmitOptions, Emitted } from "./output.js";
import type { NewPlan, ProposeRevisionOptions, RecordedRevision } from "./plan-versions.js";
import type { Query } from "./queries.js";
import type { JsonOnly, MustBeJson, Rec } from "./rec.js";
import type { Schema } from "./schema.js";
import type { Secret, SecretRef } from "./secret.js";
import type { TaskRef } from "./task.js";
import type {
  Update,
  UpdateReceived,
  UpdateTimedOut,
  UpdateTimeoutOptions,
  UpdateWaitOptions,
} from "./updates.js";

/** What a step's function gets. */
export interface StepScope {
  /** Aborts when the attempt should stop or the step's time is over. */
  readonly signal: AbortSignal;
  /** Looks up the credential that a reference names, by the worker's `secrets`. Rejects with SecretUnresolved. */
  readonly secret: (ref: SecretRef) => Promise<Secret>;
}

/** When a step is tried again, within the same attempt. */
export interface StepRetry {
  /** Tries in all, the first included. At least 1. */
  readonly attempts: number;
  /** Greatest wait before the second try. Default 100 ms. */
  readonly initial?: Duration;
  /** No wait is longer. Default 10 s. */
  readonly max?: Duration;
  /** Which errors are worth another try. Default: all but those with `retryable: false`. */
  readonly when?: (error: unknown) => boolean;
}

/** What a step without a schema may return: JSON, now or later. */
export type Recorded<T> = (T | Promise<T>) & MustBeJson<T>;

/** How a step is made. */
export interface StepOptions {
  /** Tells the turns of a loop apart. 1 to 200 bytes. Absent: none. */
  readonly key?: string;
  /** How long one try may take. Default: no limit of its own. */
  readonly timeout?: Duration;
  /**
   * When it is tried again, within the attempt. A step that still fails is recorded as failed, throws `StepFailed`, and never runs again. Without a retry of its
   * own that holds as soon as the code goes on after it; where the failure ends the attempt, the task's own retry runs the step again.
   */
  readonly retry?: StepRetry;
  /** True: resolves only when the value is durable. Default false: when it is on its way; whatever follows stays behind it. */
  readonly durable?: boolean;
}

/** How something is waited for. */
export interface SleepOptions {
  /** Tells the turns of a loop apart. 1 to 200 bytes. Absent: none. */
  readonly key?: string;
}

/** What of an operation is fixed per call. */
export interface PerformOptions {
  /** What is acted on: an account, a repository. Part of the fingerprint. At most 1,024 bytes. */
  readonly target: string;
  /** Tells several performances of one operation apart. 1 to 200 bytes. Required in scope `namespace`. */
  readonly key?: string;
  /** How far the identity reaches. Default `task`: five tasks that do the same have five keys. */
  readonly scope?: "task" | "run" | "namespace";
}

/** One attempt of a task, as its handler sees it. Unusable once the handler returned or the attempt is over. */
export interface TaskContext {
  /** Id of the run. */
  readonly runId: string;
  /** Which execution under the run id, from 1. */
  readonly incarnation: number;
  /** Name of the workflow. */
  readonly workflow: string;
  /** Name of the task in its run. */
  readonly task: string;
  /** What the worker serves: the name the task was defined with. */
  readonly kind: string;
  /** Which try this is, from 1. */
  readonly attempt: number;
  /** The fence: rises with every claim. */
  readonly leaseVersion: number;
  /** W3C traceparent of who started the run. Empty when there is none. */
  readonly traceparent: string;
  /** Aborts when the attempt should stop; `reason` is `LeaseLost`, `Cancelled`, `Draining`, `TimedOut` or `AwaitingReview`. */
  readonly signal: AbortSignal;
  /** The last progress of an earlier attempt, decoded. Undefined when there is none. */
  readonly lastProgress: unknown;
  /** Outputs of the tasks this one needs, by name, decoded: of those that completed before this one could begin. */
  readonly dependencies: Readonly<Record<string, unknown>>;
  /**
   * Output of a needed task, with its type. `name` defaults to the reference's own.
   *
   * @throws DefinitionInvalid when this task was not given it, or it did not complete.
   */
  dependency<Output>(ref: TaskRef<unknown, Output>, name?: string): Output;
  /** What became of the tasks this one needs, in the order its plan names them: those that had ended when it could begin, the same in every attempt. */
  readonly needed: readonly NeededTask[];
  /** What became of one of them, with its type. `name` defaults to the reference's own. */
  need<Output>(ref: TaskRef<unknown, Output>, name?: string): NeededTask<Output>;
  /**
   * Revises the plan of the task's own run, and records that under `name` in the same commit: whoever enters the code again is given the same answer. This task itself, and what it needs, must stay
   * the same in the new plan.
   *
   * @throws What the kernel refuses it with, recorded as the failure of a step is; RecordMismatch when another plan is recorded under the name.
   */
  revisePlan(
    name: string,
    plan: NewPlan,
    options: ProposeRevisionOptions,
  ): Promise<RecordedRevision>;
  /**
   * Tells how far the attempt is, and renews its lease. The last one is kept and given to the next attempt. JSON, at
   * most 32 KiB. Memory only until the task's next event.
   */
  progress<T>(value: T, ..._problem: JsonOnly<T>): void;
  /**
   * Shows something while the attempt runs: tokens of a model, lines of a log. JSON or bytes, at most 32 KiB a chunk. Readers get it by
   * `run.output()`. Memory only: it is in no log, and gone with the kernel's process. May be called inside a step.
   *
   * Never waits. Chunks of one tick leave together; when they cannot leave, up to 1 MiB of an attempt waits, then the oldest goes and readers
   * are told how many they miss. After a wait, and by another attempt, the code emits from its top again: readers are told to forget what came.
   *
   * @throws ValueRefused, TooLarge, DefinitionInvalid (more than 64 channels); or the attempt's end.
   */
  emit<T>(value: Emitted<T>, options?: EmitOptions): void;
  /**
   * Records a value by name: a random choice, a model's plan. Runs once; later attempts get the recorded value. The
   * value handed back is the decoded record, also the first time. Only JSON.
   */
  step<T>(name: string, run: (scope: StepScope) => Recorded<T>): Promise<Rec<T>>;
  /** A step with options. */
  step<T>(
    name: string,
    options: StepOptions & { readonly schema?: undefined },
    run: (scope: StepScope) => Recorded<T>,
  ): Promise<Rec<T>>;
  /** A step whose value a schema checks, and transforms, before it is recorded. */
  step<Returned, Value>(
    name: string,
    options: StepOptions & { readonly schema: Schema<Returned, Value> },
    run: (scope: StepScope) => Returned | Promise<Returned>,
  ): Promise<Value>;
  /** A step that observes the world: the kernel records when. Otherwise as `step`. */
  read<T>(name: string, run: (scope: StepScope) => Recorded<T>): Promise<Rec<T>>;
  /** A read with options. */
  read<T>(
    name: string,
    options: StepOptions & { readonly schema?: undefined },
    run: (scope: StepScope) => Recorded<T>,
  ): Promise<Rec<T>>;
  /** A read whose value a schema checks. */
  read<Returned, Value>(
    name: string,
    options: StepOptions & { readonly schema: Schema<Returned, Value> },
    run: (scope: StepScope) => Returned | Promise<Returned>,
  ): Promise<Value>;
  /**
   * Performs a declared effect: records the intent, calls the sink with the recorded payload, records how it ended. An
   * effect that is settled already is not done again: its recorded result is given, or its refusal thrown.
   *
   * @throws Refused, NotSent, OperationAbandoned, OperationInDoubt, Conflict; or the attempt's end.
   */
  perform<Sent, Result>(
    operation: Operation<Sent, Result>,
    payload: NoInfer<Sent>,
    options: PerformOptions,
  ): Promise<Result>;
  /**
   * Waits so long. While the code has nothing else to do the lease is given back and the handler is dropped as it stands: no `catch` and no
   * `finally` of it runs. When the time has come it begins again from the top, with its recorded steps. Uses no attempt; survives restarts; up to 10 years.
   *
   * @param name Its identity in the task, for all kinds of waits: `"until-ship"`. In a loop give a `key` too.
   */
  sleep(name: string, duration: Duration, options?: SleepOptions): Promise<void>;
  /**
   * Proposes an effect to people, and waits until they decided, without holding a worker: the lease is given back meanwhile, and the code begins
   * again from the top, with its recorded steps. What was approved is performed by the answer's own `perform`.
   *
   * @throws Conflict when another action was proposed before under the same operation and key; or the attempt's end.
   */
  approve<Sent, Result>(
    operation: Operation<Sent, Result>,
    content: NoInfer<Sent>,
    options: ApproveOptions,
  ): Promise<Said<Result>>;
  /**
   * Waits for a signal; one that came before is taken first. Waiting is as in `sleep`.
   *
   * @param name Name of the signal, and of the wait: in a loop give a `key` too.
   */
  waitSignal<T = unknown>(name: string, options?: SignalWaitOptions<T>): Promise<SignalReceived<T>>;
  /**
   * Waits for an update: a message whose sender waits for this code's answer. One that came before is taken first, in the order of acknowledgement. Answer it by `accept` or
   * `refuse` before the code returns; it may do anything else first. What the update's schema refuses is refused to its sender and never gets here. Waiting is as in `sleep`.
   *
   * @param update Its name is the name of the wait too: in a loop give a `key`.
   */
  waitUpdate<Sent, Input, Returned, Result>(
    update: Update<Sent, Input, Returned, Result>,
    options?: UpdateWaitOptions & { readonly timeout?: undefined },
  ): Promise<UpdateReceived<Input, Returned>>;
  /** Waits for an update that may not come. */
  waitUpdate<Sent, Input, Returned, Result>(
    update: Update<Sent, Input, Returned, Result>,
    options: UpdateTimeoutOptions,
  ): Promise<UpdateReceived<Input, Returned> | UpdateTimedOut>;
  /**
   * Publishes a value under a name, for whoever asks (`run.query`): also while no worker runs, and after the run has ended. The last one counts. It is durable with whatever
   * the code records next; code that runs again publishes nothing anew. JSON, at most 32,000 bytes; a run publishes under at most 100 names.
   *
   * @throws ValueRefused, SchemaRefused, TooLarge, DefinitionInvalid; or the attempt's end.
   */
  publish<T>(query: Query<T>, value: NoInfer<T>): void;
  /** Publishes a value under a name that is not declared. */
  publish<T>(name: string, value: T, ..._problem: JsonOnly<T>): void;
  /**
   * Asks somebody for something the code needs. Waiting is as in `sleep`.
   *
   * @param name Its identity in the task. The same name with another question, addressee or schema is refused.
   */
  ask<T = unknown>(name: string, options: AskOptions<T>): Promise<Answer<T>>;
  /**
   * Sends a signal to another run of this namespace, once: code that runs again sends nothing again, and gets what became of it. The kernel keeps it
   * until the other run has recorded it, through restarts, and also when this run ends first. Where the answer is not there at once the code waits
   * for it, as in `sleep`.
   *
   * @param name Name of the signal, and of the call in the task: to send two of one name, to one run or several, give each a `key`.
   * @param payload JSON, at most 32 KiB. Undefined: none.
   * @throws Conflict when another run or content is recorded under the name and key; or the attempt's end.
   */
  signalRun(
    runId: string,
    name: string,
    payload?: unknown,
    options?: TellRunOptions,
  ): Promise<RunSignalled>;
  /**
   * Starts a child run, once: a run with its own history, which ends with this one unless `parentClose` says otherwise. Code that runs again starts
   * nothing again, and gets the same child. Its id follows from this run's id, incarnation and task, and the child's name and key.
   *
   * @param input JSON, at most 32 KiB.
   * @throws Conflict when another start is recorded under the name and key; or the attempt's end.
   */
  startChild<Sent, Output>(
    definition: Startable<Sent, Output>,
    ...args: StartArguments<Sent, ChildOptions>
  ): Promise<ChildRun<Output>>;
  /** Starts a child run, as `startChild`, and waits for its result, as `sleep` waits. */
  child<Sent, Output>(
    definition: Startable<Sent, Output>,
    ...args: StartArguments<Sent, ChildOptions>
  ): Promise<Output>;
  /**
   * Asks another run of this namespace to stop, once, as `signalRun` sends: with its grace and its clean-up, as if a person had cancelled it.
   *
   * @param reason For people. At most 1,000 bytes.
   */
  cancelRun(runId: string, reason?: string, options?: TellRunOptions): Promise<RunAskedToStop>;
  /** Waits until a point in time; a past one is over at once. Otherwise as `sleep`. */
  sleepUntil(name: string, time: Date, options?: SleepOptions): Promise<void>;
}
