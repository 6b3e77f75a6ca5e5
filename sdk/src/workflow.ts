import type { Duration } from "./duration.js";
import { DefinitionInvalid } from "./errors.js";
import { checkId } from "./internal/ids.js";
import { checkSchedule } from "./internal/plan-message.js";
import { readRunTimeout } from "./internal/run-timeout.js";
import type { JsonOrNothing } from "./rec.js";
import type { Schema } from "./schema.js";
import type { ServedTask, TaskHandler, TaskRef } from "./task.js";
import type { ScheduleOptions } from "./task-options.js";
import type { WorkflowContext } from "./workflow-context.js";

/** What a workflow is, besides its name. */
export interface WorkflowSpec<Sent, Input, Returned, Output>
  extends Omit<ScheduleOptions, "queue"> {
  /** Version of the code, from 1. A run keeps the version that it began with: raise it when old runs must go on with old code. */
  readonly version: number;
  /**
   * What becomes of a return before the code has reached all effects, approvals, children and calls that are recorded of the run: a person is asked whether it stands (`PAWL_UNVISITED_RECORD`), or it is
   * allowed.
   * Default `review`.
   */
  readonly unvisited?: "review" | "allow";
  /** How long a run of it may take in all when its start does not say: see `StartOptions.runTimeout`. Default: no limit. */
  readonly runTimeout?: Duration;
  /** Checks and transforms the input, at the worker. A refusal is final. Absent: it takes none. */
  readonly input?: Schema<Sent, Input>;
  /** Checks and transforms what the function returns. Absent: `run` infers it, and only JSON is admitted. */
  readonly output?: Schema<Returned, Output>;
}

/** A workflow with a declared output. */
export interface Workflow<Sent, Input, Returned, Output> extends TaskRef<Sent, Output> {
  /** Serves the workflow with an ordinary async function. */
  run(
    code: (ctx: WorkflowContext<Sent>, input: Input) => Promise<Returned>,
  ): ServedTask<Sent, Output>;
}

/** A workflow whose output is what its function returns. */
export interface OpenWorkflow<Sent, Input> extends TaskRef<Sent, unknown> {
  /** Serves the workflow; the output must be JSON, or nothing. */
  run<Returned>(
    code: (ctx: WorkflowContext<Sent>, input: Input) => Promise<Returned> & JsonOrNothing<Returned>,
  ): ServedTask<Sent, Returned>;
}

/**
 * Names a workflow function. Alone it is a typed reference, to start runs of it or to call it; `.run(code)` serves it.
 *
 * @param name 1 to 200 bytes, its version included. Part of the fingerprint of a start, without the version.
 * @throws DefinitionInvalid
 */
export function workflow<Sent = undefined, Input = Sent, Returned = never, Output = Returned>(
  name: string,
  spec: WorkflowSpec<Sent, Input, Returned, Output> & { readonly output: Schema<Returned, Output> },
): Workflow<Sent, Input, Returned, Output>;
/** A workflow without a declared output. */
export function workflow<Sent = undefined, Input = Sent>(
  name: string,
  spec: Omit<WorkflowSpec<Sent, Input, never, never>, "output">,
): OpenWorkflow<Sent, Input>;
export function workflow(
  name: string,
  spec: WorkflowSpec<unknown, unknown, unknown, unknown>,
): Workflow<unknown, unknown, unknown, unknown> {
  const { version, input, output, runTimeout, unvisited = "review", ...schedule } = spec;
  if (!Number.isInteger(version) || version < 1 || version > 1_000_000) {
    throw new DefinitionInvalid(
      `Expected the version of workflow "${name}" to be a whole number from 1 to 1,000,000, but it is ${version}. Begin with 1.`,
    );
  }
  if (unvisited !== "review" && unvisited !== "allow") {
    throw new DefinitionInvalid(
      `Expected unvisited of workflow "${name}" to be "review" or "allow", but it is "${String(unvisited)}".`,
    );
  }
  checkSchedule(schedule, `workflow "${name}"`);
  if (runTimeout !== undefined) readRunTimeout(runTimeout);
  const ref: TaskRef = {
    ...(runTimeout === undefined ? {} : { runTimeout }),
    type: "task",
    name: checkId(name, "the name of a workflow"),
    kind: checkId(`${name}@${version}`, "the name of a workflow with its version"),
    schedule,
    inputSchema: input,
  };
  return {
    ...ref,
    run: (code) => ({
      ...ref,
      isFunction: true,
      allowsUnvisited: unvisited === "allow",
      // The worker gives a function the context of a function.
      handler: code as unknown as TaskHandler,
      outputSchema: output,
    }),
  };
}
