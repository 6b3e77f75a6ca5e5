import { create } from "@bufbuild/protobuf";
import {
  InputWaitSchema,
  SignalWaitSchema,
  type TaskWait,
  TaskWaitSchema,
  type WaitOutcome,
} from "@pawl/proto/v1/worker_service_pb.js";
import type { Answer, AskOptions, SignalReceived, SignalWaitOptions } from "../messages.js";
import type { Schema } from "../schema.js";
import { decodePayload } from "./codec.js";
import { parseDuration } from "./duration-ms.js";
import { otherKind } from "./sleep.js";
import { validate } from "./validate.js";
import type { WaitCall } from "./waits.js";

/** A wait for a signal. */
export function signalCall(name: string, { key, timeout }: SignalWaitOptions): WaitCall {
  const timeoutMs =
    timeout === undefined ? undefined : parseDuration(timeout, `the timeout of signal "${name}"`);
  return {
    name,
    key,
    isNamed: true,
    describe: (elapsedMs) => {
      const wait = create(SignalWaitSchema, { signal: name });
      if (timeoutMs !== undefined) wait.timeoutMs = Math.max(0, timeoutMs - elapsedMs);
      return withKey(
        create(TaskWaitSchema, { name, subject: { case: "signal", value: wait } }),
        key,
      );
    },
  };
}

/** What a signal's outcome is to the code. */
export async function readSignal<T>(
  { name, outcome }: WaitOutcome,
  schema: Schema<unknown, T> | undefined,
): Promise<SignalReceived<T>> {
  if (outcome.case === "timedOut") {
    return { status: "timed-out" };
  }
  if (outcome.case !== "signal") throw otherKind(name, "a signal", outcome.case);
  const what = `signal "${name}"`;
  const value = await typed(decodePayload(outcome.value.payload, what), schema, what);
  return { status: "received", value, from: outcome.value.principal };
}

/** A wait for an answer. */
export function askCall(name: string, options: AskOptions): WaitCall {
  const { key, question, addressee = "", schema, expiresIn } = options;
  const expiresInMs =
    expiresIn === undefined ? undefined : parseDuration(expiresIn, `the expiry of "${name}"`);
  return {
    name,
    key,
    isNamed: true,
    what: `question "${name}"`,
    describe: (elapsedMs) => {
      const text = schema === undefined ? "" : JSON.stringify(schema);
      const wait = create(InputWaitSchema, { question, addressee, schema: text });
      if (expiresInMs !== undefined) wait.expiresInMs = Math.max(0, expiresInMs - elapsedMs);
      return withKey(
        create(TaskWaitSchema, { name, subject: { case: "input", value: wait } }),
        key,
      );
    },
  };
}

/** What an answer is to the code. */
export async function readAnswer<T>(
  { name, outcome }: WaitOutcome,
  as: Schema<unknown, T> | undefined,
): Promise<Answer<T>> {
  if (outcome.case === "timedOut") {
    return { status: "expired" };
  }
  if (outcome.case !== "input") throw otherKind(name, "an input request", outcome.case);
  const { answer, principal: by } = outcome.value;
  if (answer.case === "declined") {
    return { status: "declined", reason: answer.value, by };
  }
  const what = `the answer to "${name}"`;
  const value = await typed(decodePayload(answer.value, what), as, what);
  return { status: "answered", value, by };
}

/** Without a schema the caller's own type parameter says what comes. */
async function typed<T>(
  value: unknown,
  schema: Schema<unknown, T> | undefined,
  what: string,
): Promise<T> {
  return schema === undefined ? (value as T) : await validate(schema, value, what, false);
}

function withKey(wait: TaskWait, key: string | undefined): TaskWait {
  if (key !== undefined) wait.key = key;
  return wait;
}
