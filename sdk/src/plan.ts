import type { Plan } from "@pawl/proto/v1/plan_pb.js";
import { checkId } from "./internal/ids.js";
import { buildPlanMessage } from "./internal/plan-message.js";
import type { OnNeedFailure } from "./needed-task.js";
import type { Schema } from "./schema.js";
import type { TaskRef } from "./task.js";
import type { ScheduleOptions } from "./task-options.js";

/** A task that another one needs. */
export interface Need<Name extends string = string> {
  /** Its name in the plan. */
  readonly task: Name;
  /** What it means to the one that needs it when it fails or is skipped. */
  readonly onFailure: OnNeedFailure;
}

/** One task of a plan. */
export interface PlanTask extends ScheduleOptions {
  /** What runs. */
  readonly task: TaskRef;
  /**
   * The tasks that must complete first, by name; or with what it means when one fails. Their outputs arrive in `ctx.dependencies`, and how each ended in
   * `ctx.need`.
   */
  readonly needs?: readonly (string | Need)[];
  /**
   * How many of them must count: those that completed, and those that failed where `onFailure` is `continue`. Default: `all`. When enough do, the task begins with what has ended by then;
   * what ends later goes on, and is not given to it. When too few are left, it is skipped, or fails where one says so.
   */
  readonly join?: "all" | "any" | { readonly atLeast: number };
  /** The task's own input, as data. Absent: it gets the run's input. */
  readonly input?: unknown;
}

/** The tasks of a plan, by name. */
export type PlanTasks = Readonly<Record<string, PlanTask>>;

/** What a task reference gives. */
export type OutputOf<Ref> = Ref extends { readonly types?: infer Types }
  ? NonNullable<Types> extends { readonly output: infer Output }
    ? Output
    : never
  : never;

/** What a task reference takes. */
export type SentTo<Ref> = Ref extends { readonly types?: infer Types }
  ? NonNullable<Types> extends { readonly sent: infer Sent }
    ? Sent
    : never
  : never;

/** The run's input serves a task that takes it, or takes none; any other needs an input of its own. */
type OwnInput<Sent, RunInput> = [Sent] extends [undefined]
  ? { readonly input?: undefined }
  : [RunInput] extends [Sent]
    ? { readonly input?: Sent }
    : { readonly input: Sent };

/** Names that a task may need: all others. Where the names are known only at run time, any text; `plan` checks it then. */
type OtherNames<Tasks, Name> = string extends keyof Tasks ? string : Exclude<keyof Tasks, Name>;

/** Each task with what its types demand: needs that exist, and an input that fits. */
export type CheckedTasks<Tasks, RunInput> = {
  readonly [Name in keyof Tasks]: Tasks[Name] extends { readonly task: infer Ref }
    ? {
        readonly task: Ref;
        readonly needs?: readonly (
          | OtherNames<Tasks, Name>
          | Need<OtherNames<Tasks, Name> & string>
        )[];
      } & OwnInput<SentTo<Ref>, RunInput>
    : never;
};

/** What a plan is, besides its name. */
export interface PlanSpec<Sent, Tasks extends PlanTasks, Last extends keyof Tasks | undefined> {
  /** Type of the run's input, and its check where the run is started. Absent: the run takes none. */
  readonly input?: Schema<Sent, unknown>;
  /** The tasks, by name. 1 to 5,000. */
  readonly tasks: Tasks & CheckedTasks<Tasks, Sent>;
  /** Name of the task whose output is the run's. Absent: the run has none. */
  readonly output?: Last;
}

/** A plan: the task graph of a workflow, as data. `JSON.stringify` shows it whole. */
export interface PlanRef<Sent = unknown, Output = unknown> {
  /** Always `plan`. */
  readonly type: "plan";
  /** Name of the workflow. Part of the fingerprint of a start. */
  readonly name: string;
  /** Checks what is sent. Undefined when nothing does. */
  readonly inputSchema: Schema<Sent, unknown> | undefined;
  /** The graph as the kernel gets it. */
  readonly message: Plan;
  /** Types only: no value at run time. */
  readonly types?: { readonly sent: Sent; readonly output: Output };
}

/**
 * Builds a plan: which tasks run, what each needs, whose output is the run's. It is data: no closures, the same bytes
 * each time. A task that failed for good skips its dependants, unless they say otherwise; other branches finish, then the run fails.
 *
 * @param name Name of the workflow, 1 to 200 bytes.
 * @throws DefinitionInvalid for a task that needs an unknown one, a join that asks for more than there are, a cycle, an unknown output, or a plan out of bounds;
 *   ValueRefused for an input that is not JSON.
 */
export function plan<
  const Tasks extends PlanTasks,
  Sent = undefined,
  const Last extends (keyof Tasks & string) | undefined = undefined,
>(
  name: string,
  spec: PlanSpec<Sent, Tasks, Last>,
): PlanRef<Sent, Last extends keyof Tasks ? OutputOf<Tasks[Last]["task"]> : undefined> {
  const message = buildPlanMessage(name, spec.tasks, spec.output);
  return {
    type: "plan",
    name: checkId(name, "the name of a plan"),
    inputSchema: spec.input,
    message,
  };
}
