import { create } from "@bufbuild/protobuf";
import { ObligationStatus, ParentClose } from "@pawl/proto/v1/obligation_pb.js";
import type { Payload } from "@pawl/proto/v1/payload_pb.js";
import { RunStatus } from "@pawl/proto/v1/run_pb.js";
import {
  type ChildItem,
  ChildItemSchema,
  type ChildOutcome,
  ChildWaitSchema,
  type Offer,
  TaskWaitSchema,
  type WaitOutcome,
} from "@pawl/proto/v1/worker_service_pb.js";
import type { ChildOptions, ChildRun } from "../children.js";
import type { Startable } from "../connect.js";
import { DefinitionInvalid, PawlError, RunCancelled, RunFailed, RunTerminated } from "../errors.js";
import { childAtVersion } from "./at-version.js";
import { decodePayload, encodeValue } from "./codec.js";
import { fromFailure } from "./failure.js";
import { checkId } from "./ids.js";
import { LeftResult } from "./left-result.js";
import { buildPlanMessage, MAIN_TASK } from "./plan-message.js";
import { runTimeoutOf } from "./run-timeout.js";
import { otherKind } from "./sleep.js";
import { check } from "./validate.js";
import type { WaitCall } from "./waits.js";

/** Name of the waits for ends of children; their key is the number of the obligation that started them. */
const WAIT_NAME = "child";

const closings: Readonly<Record<NonNullable<ChildOptions["parentClose"]>, ParentClose>> = {
  cancel: ParentClose.CANCEL,
  terminate: ParentClose.TERMINATE,
  detach: ParentClose.DETACH,
};

/**
 * The start of a child.
 *
 * @param offer Of the task that starts it, whose version it may inherit.
 * @throws DefinitionInvalid, or what the schema of its input refuses.
 */
export async function childItem(
  started: Startable,
  input: unknown,
  options: ChildOptions,
  offer: Pick<Offer, "workflow" | "kind" | "codeVersion">,
): Promise<ChildItem> {
  const { definition, choice } = childAtVersion(started, options.version, offer);
  const { name = definition.name, key, parentClose = "cancel" } = options;
  checkId(name, "the name of a child");
  if (key !== undefined) checkId(key, "the key of a child");
  if (!Object.hasOwn(closings, parentClose)) {
    throw new DefinitionInvalid(
      `Expected parentClose to be cancel, terminate or detach, but it is "${String(parentClose)}". Give one of them.`,
    );
  }
  const what = `the input of child "${name}"`;
  const checking = check(definition.inputSchema, input, what);
  const plan =
    definition.type === "plan"
      ? definition.message
      : buildPlanMessage(definition.name, { [MAIN_TASK]: { task: definition } }, MAIN_TASK);
  const workflow = definition.name;
  const item = create(ChildItemSchema, { name, workflow, plan });
  item.parentClose = closings[parentClose];
  if (key !== undefined) item.key = key;
  const runTimeout = runTimeoutOf(definition, options.runTimeout);
  if (runTimeout !== undefined) item.runTimeout = runTimeout;
  if (choice !== undefined) item.versionChoice = choice;
  const payload = encodeValue(input, what);
  if (payload !== undefined) item.input = payload;
  await checking;
  return item;
}

/** A wait for the end of a child. */
export function childCall(obligation: number, runId: string): WaitCall {
  const key = `${obligation}`;
  const wait = create(TaskWaitSchema, {
    name: WAIT_NAME,
    key,
    subject: { case: "child", value: create(ChildWaitSchema, { obligation }) },
  });
  return { name: WAIT_NAME, key, what: `child "${runId}"`, describe: () => wait };
}

/**
 * What the end of a child is to the code.
 *
 * @param load Brings in content that is stored beside the child.
 */
export async function readChild(
  { name, outcome }: WaitOutcome,
  load: (payload: Payload | undefined, runId: string) => Promise<Payload | undefined>,
): Promise<unknown> {
  if (outcome.case !== "child") throw otherKind(name, "the end of a child", outcome.case);
  const { runId, start, status, output } = outcome.value;
  if (start !== ObligationStatus.DELIVERED) {
    throw new PawlError(
      "PAWL_RUN_EXISTS",
      `Expected to start run "${runId}" as a child, but another run has this id. Give the child another name or key.`,
      { retryable: false },
    );
  }
  if (status === RunStatus.COMPLETED) {
    return decodePayload(await load(output, runId), `the output of child "${runId}"`);
  }
  throw endOf(outcome.value);
}

function endOf({ runId, status, failure }: ChildOutcome): PawlError {
  const recorded = failure === undefined ? undefined : fromFailure(failure);
  switch (status) {
    case RunStatus.FAILED:
      return new RunFailed(runId, recorded);
    case RunStatus.CANCELLED:
      return new RunCancelled(runId, recorded);
    case RunStatus.TERMINATED:
      return new RunTerminated(runId, recorded);
    default:
      return new PawlError(
        "PAWL_UNKNOWN_ANSWER",
        `Expected child "${runId}" to have ended in a way that this SDK knows, but it is ${status}. Update @pawl/sdk.`,
      );
  }
}

/** What a child is to the code that started it. */
export function childHandle<Output>(
  runId: string,
  parts: {
    /** Waits for its end. */
    readonly end: () => Promise<Output>;
    /** Nobody waits for its end any more. */
    readonly forget: () => void;
    readonly askToStop: (reason: string) => Promise<unknown>;
  },
): ChildRun<Output> {
  const left = new LeftResult(runId, parts.end);
  return {
    runId,
    result: () => left.get(),
    cancel: async (options = {}) => {
      const how = left.cancel(options, parts.forget);
      if (how !== undefined && how.mode !== "abandon") await parts.askToStop(how.reason);
    },
  };
}
