import { create } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import {
  type OnExhausted,
  OnExhaustedSchema,
  type RetryPolicy,
  RetryPolicySchema,
  type TaskTimeouts,
  TaskTimeoutsSchema,
} from "@pawl/proto/v1/plan_pb.js";
import type { Task } from "@pawl/proto/v1/run_pb.js";
import { type Command, InvalidArgumentError } from "commander";
import { enumChoices } from "./format/enum-word.js";
import { enumWordOption, gatherText, readLength, wholeNumber } from "./options.js";

/** What of a task's policy is to be changed, as options say it; lengths in ms. */
export interface PolicyChange {
  readonly attemptsMax?: number;
  readonly initialInterval?: number;
  readonly backoffCoefficient?: number;
  readonly intervalMax?: number;
  readonly jitter?: number;
  readonly nonRetryable?: readonly string[];
  readonly onExhausted?: OnExhausted;
  readonly workerLossesMax?: number;
  readonly scheduleToStart?: number | "none";
  readonly startToClose?: number | "none";
  readonly scheduleToClose?: number | "none";
  readonly lease?: number;
}

const retryNames = [
  "attemptsMax",
  "initialInterval",
  "backoffCoefficient",
  "intervalMax",
  "jitter",
  "nonRetryable",
  "onExhausted",
  "workerLossesMax",
] as const;
const timeoutNames = ["scheduleToStart", "startToClose", "scheduleToClose", "lease"] as const;

/** Whether anything is to be changed. */
export function isPolicyChange(change: PolicyChange): boolean {
  return [...retryNames, ...timeoutNames].some((name) => change[name] !== undefined);
}

/** Adds the options of a policy. */
export function addPolicyOptions(command: Command): void {
  addRetryOptions(command);
  addTimeoutOptions(command);
}

function addRetryOptions(command: Command): void {
  command
    .option(
      "--attempts-max <count>",
      "attempts in all, above those that are used",
      wholeNumber(1, 10_000),
    )
    .option("--initial-interval <length>", "wait before the second attempt, as 500ms", readLength)
    .option(
      "--backoff-coefficient <factor>",
      "how many times as long each further wait is, 1 to 100",
      readNumber(1, 100),
    )
    .option("--interval-max <length>", "no wait is longer", readLength)
    .option("--jitter <share>", "share of each wait that is random, 0 to 1", readNumber(0, 1))
    .option(
      "--non-retryable <kind>",
      "failure kind or code that is never tried again, in place of those before; may be given again; an empty one: none",
      gatherText,
    )
    .option(
      "--on-exhausted <what>",
      `when the attempts are used up: ${enumChoices(OnExhaustedSchema).join(" or ")}`,
      enumWordOption(OnExhaustedSchema),
    )
    .option(
      "--worker-losses-max <count>",
      "lost workers in a row after which a person is asked",
      wholeNumber(1, 10_000),
    );
}

function addTimeoutOptions(command: Command): void {
  command
    .option(
      "--schedule-to-start <length>",
      "from READY until a worker takes it; none: no bound",
      lengthOrNone,
    )
    .option(
      "--start-to-close <length>",
      "from the claim until the attempt's report; none: no bound",
      lengthOrNone,
    )
    .option(
      "--schedule-to-close <length>",
      "from the first READY until its end; none: no bound",
      lengthOrNone,
    )
    .option(
      "--lease <length>",
      "how long a lease lasts without a renewal; from the next claim on",
      readLength,
    );
}

/** What is sent: the present policy with the changes, as a whole, since it takes the place of the one before. */
export function changedPolicy(
  { retry = create(RetryPolicySchema), timeouts = create(TaskTimeoutsSchema) }: Task,
  change: PolicyChange,
): { retry?: RetryPolicy; timeouts?: TaskTimeouts } {
  return {
    ...(retryNames.some((name) => change[name] !== undefined)
      ? { retry: changedRetry(retry, change) }
      : {}),
    ...(timeoutNames.some((name) => change[name] !== undefined)
      ? { timeouts: changedTimeouts(timeouts, change) }
      : {}),
  };
}

function changedRetry(before: RetryPolicy, change: PolicyChange): RetryPolicy {
  const { initialInterval, intervalMax, nonRetryable } = change;
  const first =
    initialInterval === undefined ? before.initialInterval : durationFromMs(initialInterval);
  const longest = intervalMax === undefined ? before.intervalMax : durationFromMs(intervalMax);
  const jitter = change.jitter ?? before.jitter;
  return create(RetryPolicySchema, {
    attemptsMax: change.attemptsMax ?? before.attemptsMax,
    backoffCoefficient: change.backoffCoefficient ?? before.backoffCoefficient,
    nonRetryable: (nonRetryable ?? before.nonRetryable).filter((kind) => kind !== ""),
    onExhausted: change.onExhausted ?? before.onExhausted,
    workerLossesMax: change.workerLossesMax ?? before.workerLossesMax,
    ...(jitter === undefined ? {} : { jitter }),
    ...(first === undefined ? {} : { initialInterval: first }),
    ...(longest === undefined ? {} : { intervalMax: longest }),
  });
}

function changedTimeouts(before: TaskTimeouts, change: PolicyChange): TaskTimeouts {
  const changed = create(TaskTimeoutsSchema);
  for (const name of timeoutNames) {
    const given = change[name];
    const length =
      given === undefined ? before[name] : given === "none" ? undefined : durationFromMs(given);
    if (length !== undefined) changed[name] = length;
  }
  return changed;
}

function readNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^\d{1,5}(\.\d{1,9})?$/.test(text) || value < min || value > max) {
      throw new InvalidArgumentError(`Expected a number from ${min} to ${max}.`);
    }
    return value;
  };
}

function lengthOrNone(text: string): number | "none" {
  return text === "none" ? text : readLength(text);
}
