import type { WaitOutcome } from "@pawl/proto/v1/worker_service_pb.js";
import type { Schema } from "../../schema.js";
import type { TaskRef } from "../../task.js";
import type { CallOptions } from "../../workflow-context.js";
import type { AttemptContextOptions } from "../attempt-context-options.js";
import { buildTask } from "../plan-message.js";
import { validate } from "../validate.js";
import { readCall } from "./call-outcome.js";
import type { Calls } from "./calls.js";
import type { Mark } from "./marks.js";
import type { Turns } from "./turns.js";

/** What a call needs of its function. */
export interface CallParts {
  /** Name of the called task in the run. */
  readonly name: string;
  readonly task: TaskRef;
  readonly input: unknown;
  readonly options: CallOptions;
  /** False when nothing begins any more. */
  readonly isSent: boolean;
  readonly turns: Turns;
  /** Those of the lease under which the code runs now. */
  readonly calls: () => Calls;
  readonly load: AttemptContextOptions["load"];
  /** Waits for its end. */
  readonly ask: () => Promise<WaitOutcome>;
  /** Told when the call is on its way. */
  readonly onSent: (() => void) | undefined;
}

/** A call as the code makes it. */
export interface CallMade extends Pick<CallParts, "task" | "input" | "options"> {
  readonly mark: Mark;
  readonly onSent?: () => void;
}

/** Calls a task, and waits for its end. @throws CallFailed when it failed for good. */
export async function callTask<Output>(parts: CallParts): Promise<Output> {
  const { name, task, isSent, turns } = parts;
  if (isSent) {
    const { key: _key, ...schedule } = parts.options;
    const { inputSchema } = task;
    const isChecked = inputSchema === undefined || parts.input === undefined;
    const input = isChecked ? parts.input : await checked(inputSchema, parts);
    parts.calls().call(buildTask(name, { task, input, ...schedule }));
  }
  parts.onSent?.();
  const { outcome } = await parts.ask();
  const read = (): Promise<unknown> => readCall(name, outcome, parts.load);
  // The worker that served it has checked the output against its schema.
  return (await turns.blocking(read)) as Output;
}

function checked(
  schema: Schema<unknown, unknown>,
  { task, input, turns }: CallParts,
): Promise<unknown> {
  const what = `the input of task "${task.name}"`;
  return turns.blocking(async () => validate(schema, input, what, false));
}
