import type { ServedTask, WorkflowContext } from "@pawl/sdk";
import type { TestEnvironment } from "@pawl/sdk/testing";

/** Code of a workflow whose histories are kept, as it was when they were written. It is never changed. */
export interface Golden<Input, Output> {
  /** The code itself. */
  readonly code: (ctx: WorkflowContext, input: Input) => Promise<Output>;
  /** The workflow with this or other code, under the name and version that the histories are of. */
  readonly serve: (
    code: (ctx: WorkflowContext, input: Input) => Promise<Output>,
    unvisited?: "review" | "allow",
  ) => ServedTask<Input, Output>;
  /** Plays a run of it, and has its history written whenever it has come to a moment that is worth keeping. */
  readonly play: (
    env: TestEnvironment,
    keep: (moment: string, runId: string) => Promise<void>,
  ) => Promise<void>;
  /** How the code ends over the history of each moment, in words. */
  readonly ends: Readonly<Record<string, string>>;
}
