import type { TaskContext } from "./context.js";
import type { Duration } from "./duration.js";
import { checkId } from "./internal/ids.js";
import { checkSchedule } from "./internal/plan-message.js";
import type { JsonOrNothing } from "./rec.js";
import type { Schema } from "./schema.js";
import type { ScheduleOptions } from "./task-options.js";

/**
 * A task by name and types: what plans and clients need, whoever serves it, in whatever language.
 * `Sent` is what a caller gives, `Output` what dependants and `result()` get.
 */
export interface TaskRef<Sent = unknown, Output = unknown> {
  /** Always `task`. */
  readonly type: "task";
  /** Name: what a worker must serve to get it. On the wire the task's kind. */
  readonly name: string;
  /** What workers serve, when that is not the name: a workflow by its name and version. */
  readonly kind?: string;
  /** Retry, timeouts, queue: the defaults in plans. */
  readonly schedule: ScheduleOptions;
  /** Checks what is sent. Undefined when nothing does. */
  readonly inputSchema: Schema<Sent, unknown> | undefined;
  /** How long a run of it may take when its start does not say. Absent: for ever. */
  readonly runTimeout?: Duration;
  /** Types only: no value at run time. */
  readonly types?: { readonly sent: Sent; readonly output: Output };
}

/** A task with its handler, ready for `worker({ serve })`. */
export interface ServedTask<Sent = unknown, Output = unknown> extends TaskRef<Sent, Output> {
  /** Runs one attempt. The worker has checked nothing yet: input and output pass the schemas in here. */
  readonly handler: TaskHandler;
  /** True for a workflow function: its handler gets a `WorkflowContext`. */
  readonly isFunction?: boolean;
  /** True for a workflow function that may return without having reached all that is recorded. */
  readonly allowsUnvisited?: boolean;
  /** Checks what the handler returns. Undefined when nothing does. */
  readonly outputSchema: Schema<unknown, unknown> | undefined;
}

/** A handler as a worker calls it, types erased. */
export type TaskHandler = (ctx: TaskContext, input: unknown) => unknown;

/** What a task is, besides its name. */
export interface TaskSpec<Sent, Input, Returned, Output> extends ScheduleOptions {
  /** Checks and transforms the input, at the worker. A refusal is final. Absent: the task takes none. */
  readonly input?: Schema<Sent, Input>;
  /** Checks and transforms what the handler returns. Absent: `run` infers it, and only JSON is admitted. */
  readonly output?: Schema<Returned, Output>;
}

/** A task with a declared output. */
export interface Task<Sent, Input, Returned, Output> extends TaskRef<Sent, Output> {
  /**
   * Serves the task. The handler runs from its top in every attempt; only recorded steps and settled operations are
   * not done again.
   */
  run(
    handler: (ctx: TaskContext, input: Input) => Returned | Promise<Returned>,
  ): ServedTask<Sent, Output>;
}

/** A task whose output is what its handler returns. */
export interface OpenTask<Sent, Input> extends TaskRef<Sent, unknown> {
  /** Serves the task; see `Task.run`. The output must be JSON, or nothing. */
  run<Returned>(
    handler: (
      ctx: TaskContext,
      input: Input,
    ) => (Returned | Promise<Returned>) & JsonOrNothing<Returned>,
  ): ServedTask<Sent, Returned>;
}

/**
 * Names a task. Alone it is a typed reference to a task served elsewhere, in any language; `.run(handler)` serves it.
 *
 * @param name 1 to 200 bytes. It is what workers serve: choose it once.
 * @throws DefinitionInvalid
 */
export function task<Sent = undefined, Input = Sent, Returned = never, Output = Returned>(
  name: string,
  spec: TaskSpec<Sent, Input, Returned, Output> & { readonly output: Schema<Returned, Output> },
): Task<Sent, Input, Returned, Output>;
/** A task without a declared output. */
export function task<Sent = undefined, Input = Sent>(
  name: string,
  spec?: Omit<TaskSpec<Sent, Input, never, never>, "output">,
): OpenTask<Sent, Input>;
export function task(
  name: string,
  spec: TaskSpec<unknown, unknown, unknown, unknown> = {},
): Task<unknown, unknown, unknown, unknown> {
  const { input, output, ...schedule } = spec;
  checkSchedule(schedule, `task "${name}"`);
  const ref: TaskRef = {
    type: "task",
    name: checkId(name, "the name of a task"),
    schedule,
    inputSchema: input,
  };
  return { ...ref, run: (handler) => ({ ...ref, handler, outputSchema: output }) };
}

/**
 * The same task, served from another queue: for plans that send it there. A worker may serve several.
 *
 * @throws DefinitionInvalid
 */
export function fromQueue<Sent, Output>(
  served: ServedTask<Sent, Output>,
  queue: string,
): ServedTask<Sent, Output> {
  checkId(queue, "a queue");
  return { ...served, schedule: { ...served.schedule, queue } };
}
