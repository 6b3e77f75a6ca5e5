import { create } from "@bufbuild/protobuf";
import {
  type TaskWait,
  TaskWaitSchema,
  TimerWaitSchema,
  type WaitOutcome,
} from "@pawl/proto/v1/worker_service_pb.js";
import type { SleepOptions } from "../context.js";
import type { Duration } from "../duration.js";
import { DefinitionInvalid, PawlError } from "../errors.js";
import { parseDuration } from "./duration-ms.js";
import type { WaitCall } from "./waits.js";

/** A wait for so long, counted from the call. */
export function sleepCall(name: string, duration: Duration, { key }: SleepOptions): WaitCall {
  const lengthMs = parseDuration(duration, `the duration of sleep "${name}"`);
  return {
    name,
    key,
    isNamed: true,
    describe: (elapsedMs) =>
      timerWait(name, key, { case: "afterMs", value: Math.max(0, lengthMs - elapsedMs) }),
  };
}

/** A wait until a point in time. */
export function sleepUntilCall(name: string, time: Date, { key }: SleepOptions): WaitCall {
  const atMs = time.getTime();
  if (!Number.isFinite(atMs)) {
    throw new DefinitionInvalid(
      `Expected sleepUntil "${name}" to get a date, but it is "${String(time)}". Give a valid one.`,
    );
  }
  return {
    name,
    key,
    isNamed: true,
    describe: () => timerWait(name, key, { case: "atMs", value: Math.max(0, atMs) }),
  };
}

/** What a timer's outcome is to the code: nothing. */
export function readTimer({ name, outcome }: WaitOutcome): void {
  if (outcome.case !== "timer") throw otherKind(name, "a timer", outcome.case);
}

/** What the code waits for is not what the records say. */
export function otherKind(name: string, expected: string, actual: string | undefined): PawlError {
  return new PawlError(
    "PAWL_RECORD_MISMATCH",
    `Expected wait "${name}" to be ${expected}, as the code says, but it is recorded with the outcome "${actual ?? "unknown"}". The code has changed: give the new wait another name.`,
    { retryable: false },
  );
}

function timerWait(
  name: string,
  key: string | undefined,
  due: { case: "afterMs" | "atMs"; value: number },
): TaskWait {
  const wait = create(TaskWaitSchema, {
    name,
    subject: { case: "timer", value: create(TimerWaitSchema, { due }) },
  });
  if (key !== undefined) wait.key = key;
  return wait;
}
