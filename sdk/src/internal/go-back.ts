import { randomUUID } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import {
  type RetryRunRequest,
  RetryRunRequestSchema,
  type RetryRunResponse,
  RewindEffects,
  RewindMessages,
  type RewindRunRequest,
  RewindRunRequestSchema,
  type RewindRunResponse,
} from "@pawl/proto/v1/rewind_pb.js";
import { DefinitionInvalid } from "../errors.js";
import type {
  GoBackOptions,
  RetryRunOptions,
  RewindAnswer,
  RewindOptions,
  RewindTo,
} from "../rewind.js";

/** The run that is meant. */
interface RunName {
  readonly namespace: string;
  readonly runId: string;
}

/** The rewind as it is sent. @throws DefinitionInvalid when it names no point, or says what is not known of effects or messages. */
export function rewindRequest(run: RunName, options: RewindOptions): RewindRunRequest {
  const { to, effects = "reuse", messages = "keep" } = options;
  if (effects !== "reuse") {
    throw new DefinitionInvalid(
      `Expected effects of a rewind to be "reuse", but it is "${String(effects)}".`,
    );
  }
  if (messages !== "keep" && messages !== "drop") {
    throw new DefinitionInvalid(
      `Expected messages of a rewind to be "keep" or "drop", but it is "${String(messages)}".`,
    );
  }
  return create(RewindRunRequestSchema, {
    ...run,
    ...commonOf(options),
    to: pointOf(to),
    effects: RewindEffects.REUSE,
    messages: messages === "drop" ? RewindMessages.DROP : RewindMessages.KEEP,
  });
}

/** The retry as it is sent. */
export function retryRequest(
  run: RunName,
  { tasks = [], cancelled = false, ...options }: RetryRunOptions,
): RetryRunRequest {
  return create(RetryRunRequestSchema, {
    ...run,
    ...commonOf(options),
    tasks: [...tasks],
    cancelled,
  });
}

/** The answer as the caller gets it. */
export function rewindAnswer({
  existing,
  version,
  generation,
  outcome,
}: RewindRunResponse | RetryRunResponse): RewindAnswer {
  return { existing, version, generation, outcome };
}

interface Common {
  readonly reason: string;
  readonly requestId: string;
  readonly dryRun: boolean;
  readonly expectedVersion?: number;
}

function commonOf(options: GoBackOptions): Common {
  const { reason = "", expectedVersion, dryRun = false } = options;
  const { requestId = randomUUID() } = options;
  const version = expectedVersion === undefined ? {} : { expectedVersion };
  return { reason, requestId, dryRun, ...version };
}

type Point =
  | { case: "event"; value: number }
  | { case: "task"; value: { task: string; record?: string; key?: string } };

function pointOf(to: RewindTo): Point {
  if ("event" in to) return { case: "event", value: to.event };
  if (typeof to?.task !== "string") {
    throw new DefinitionInvalid(
      "Expected `to` of a rewind to name an event, or a task, but it names neither.",
    );
  }
  const { task, record, key } = to;
  const named = record === undefined ? {} : { record };
  return { case: "task", value: { task, ...named, ...(key === undefined ? {} : { key }) } };
}
