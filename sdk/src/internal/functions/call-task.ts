import type { PlanTask } from "@pawl/proto/v1/plan_pb.js";
import type { WaitOutcome } from "@pawl/proto/v1/worker_service_pb.js";
import type { TaskRef } from "../../task.js";
import type { CallOptions } from "../../workflow-context.js";
import type { AttemptContextOptions } from "../attempt-context-options.js";
import { buildTask } from "../plan-message.js";
import { check } from "../validate.js";
import { readCall } from "./call-outcome.js";
import type { Calls } from "./calls.js";
import type { Mark } from "./marks.js";
import type { Turns } from "./turns.js";

/** What a call needs of its function. */
export interface CallParts {
  /** Name of the called task in the run. */
  readonly name: string;
  /** Undefined when nothing begins any more. */
  readonly made: MadeCall | undefined;
  readonly turns: Turns;
  /** Those of the lease under which the code runs now. */
  readonly calls: () => Calls;
  readonly load: AttemptContextOptions["load"];
  /** Waits for its end. */
  readonly ask: () => Promise<WaitOutcome>;
  /** Told when the call is on its way. */
  readonly onSent: (() => void) | undefined;
}

/** What a task is called with. */
interface Called {
  readonly task: TaskRef;
  readonly input: unknown;
  readonly options: CallOptions;
}

/** A call that is ready to be sent. */
export interface MadeCall {
  readonly message: PlanTask;
  /** Rejects when the schema of the input refuses it. Undefined: it is checked. */
  readonly checking: Promise<unknown> | undefined;
}

/** A call as the code makes it. */
export interface CallMade extends Called {
  readonly mark: Mark;
  readonly onSent?: () => void;
}

/** Encodes a call with what the code gives now, whatever it makes of it afterwards. */
export function makeCall(name: string, { task, input, options }: Called): MadeCall {
  const { key: _key, ...schedule } = options;
  const schema = input === undefined ? undefined : task.inputSchema;
  const checking = check(schema, input, `the input of task "${task.name}"`);
  return { message: buildTask(name, { task, input, ...schedule }), checking };
}

/** Calls a task, and waits for its end. @throws CallFailed when it failed for good. */
export async function callTask<Output>(parts: CallParts): Promise<Output> {
  const { name, made, turns } = parts;
  if (made !== undefined) {
    const { message, checking } = made;
    if (checking !== undefined) await turns.blocking(() => checking);
    parts.calls().call(message);
  }
  parts.onSent?.();
  const { outcome } = await parts.ask();
  const read = (): Promise<unknown> => readCall(name, outcome, parts.load);
  // The worker that served it has checked the output against its schema.
  return (await turns.blocking(read)) as Output;
}
