import { create, toBinary } from "@bufbuild/protobuf";
import { DurationSchema, type Duration as ProtoDuration } from "@bufbuild/protobuf/wkt";
import {
  OnExhausted,
  type Plan,
  PlanSchema,
  type PlanTask as PlanTaskMessage,
  PlanTaskSchema,
  type RetryPolicy,
  RetryPolicySchema,
  type TaskTimeouts,
  TaskTimeoutsSchema,
} from "@pawl/proto/v1/plan_pb.js";
import type { Duration } from "../duration.js";
import { DefinitionInvalid } from "../errors.js";
import type { PlanTask, PlanTasks } from "../plan.js";
import type { RetryOptions, ScheduleOptions, TimeoutOptions } from "../task-options.js";
import { encodeValue } from "./codec.js";
import { parseDuration, toProtoDuration } from "./duration-ms.js";
import { findCycle } from "./find-cycle.js";
import { checkId } from "./ids.js";
import { kindOf } from "./kind-of.js";
import { buildJoin, nameOfNeed } from "./plan-join.js";

/** Most tasks in a plan, and its longest encoding: the kernel's own bounds. */
const TASKS_MAX = 5_000;
const PLAN_BYTES_MAX = 524_288;

/** Name of the one task of a run that is started from a task alone. */
export const MAIN_TASK = "main";

/**
 * The plan message of a task graph.
 *
 * @throws DefinitionInvalid
 */
export function buildPlanMessage(name: string, tasks: PlanTasks, output: string | undefined): Plan {
  const entries = Object.entries(tasks);
  if (entries.length === 0 || entries.length > TASKS_MAX) {
    throw new DefinitionInvalid(
      `Expected plan "${name}" to have 1 to ${TASKS_MAX} tasks, but it has ${entries.length}. Split it, or give it one.`,
    );
  }
  if (output !== undefined && !Object.hasOwn(tasks, output)) {
    throw new DefinitionInvalid(
      `Expected the output of plan "${name}" to be one of its tasks, but "${output}" is not. Name a task of the plan.`,
    );
  }
  checkNeeds(name, tasks);
  const message = create(PlanSchema, {
    tasks: entries.map(([taskName, task]) => buildTask(taskName, task)),
    output: output ?? "",
  });
  const bytes = toBinary(PlanSchema, message).length;
  if (bytes > PLAN_BYTES_MAX) {
    throw new DefinitionInvalid(
      `Expected plan "${name}" to be at most ${PLAN_BYTES_MAX} bytes, but it has ${bytes}. Move large inputs out of it.`,
    );
  }
  return message;
}

function checkNeeds(name: string, tasks: PlanTasks): void {
  for (const [taskName, task] of Object.entries(tasks)) {
    const needs = namesOfNeeds(task);
    for (const need of needs) {
      if (!Object.hasOwn(tasks, need)) {
        throw new DefinitionInvalid(
          `Expected task "${taskName}" of plan "${name}" to need tasks of the plan, but "${need}" is none. Name one, or add it.`,
        );
      }
    }
    if (new Set(needs).size !== needs.length) {
      throw new DefinitionInvalid(
        `Expected task "${taskName}" of plan "${name}" to need each task once, but one is named twice. Remove the repeat.`,
      );
    }
  }
  const cycle = findCycle(
    new Map(Object.entries(tasks).map(([key, task]) => [key, namesOfNeeds(task)])),
  );
  if (cycle !== undefined) {
    throw new DefinitionInvalid(
      `Expected plan "${name}" to have no cycle, but ${cycle.join(" needs ")}. Break it.`,
    );
  }
}

function namesOfNeeds({ needs = [] }: PlanTask): string[] {
  return needs.map(nameOfNeed);
}

/** A task as it is sent: of a plan, or called by another one. */
export function buildTask(name: string, planTask: PlanTask): PlanTaskMessage {
  const schedule: ScheduleOptions = { ...planTask.task.schedule, ...planTask };
  checkSchedule(schedule, `task "${name}"`);
  const message = create(PlanTaskSchema, {
    name: checkId(name, "the name of a task"),
    kind: kindOf(planTask.task),
    needs: namesOfNeeds(planTask),
    queue: schedule.queue ?? "",
    priority: schedule.priority ?? 0,
  });
  const join = buildJoin(name, planTask);
  if (join !== undefined) {
    message.join = join;
  }
  const input = encodeValue(planTask.input, `the input of task "${name}"`);
  if (input !== undefined) {
    message.input = input;
  }
  if (schedule.retry !== undefined) {
    message.retry = buildRetry(schedule.retry);
  }
  if (schedule.timeouts !== undefined) {
    message.timeouts = buildTimeouts(schedule.timeouts);
  }
  if (schedule.cancelGrace !== undefined) {
    message.cancelGrace = duration(schedule.cancelGrace, "cancelGrace");
  }
  return message;
}

/**
 * Checks what the types cannot: whole numbers within bounds, well-formed names and durations.
 *
 * @param of What the options belong to, for the error.
 * @throws DefinitionInvalid
 */
export function checkSchedule(schedule: ScheduleOptions, of: string): void {
  const { priority, queue, retry, timeouts, cancelGrace } = schedule;
  checkNumber(priority, { field: `the priority of ${of}`, min: 0, max: 9, whole: true });
  for (const name of ["attempts", "workerLosses"] as const) {
    const field = `the retry.${name} of ${of}`;
    checkNumber(retry?.[name], { field, min: 1, max: 10_000, whole: true });
  }
  checkNumber(retry?.coefficient, {
    field: `the retry.coefficient of ${of}`,
    min: 1,
    max: 100,
    whole: false,
  });
  checkNumber(retry?.jitter, { field: `the retry.jitter of ${of}`, min: 0, max: 1, whole: false });
  if (queue !== undefined) {
    checkId(queue, `the queue of ${of}`);
  }
  const durations = [retry?.initial, retry?.max, cancelGrace, ...Object.values(timeouts ?? {})];
  for (const value of durations) {
    if (value !== undefined) {
      parseDuration(value, `a duration of ${of}`);
    }
  }
}

interface NumberBound {
  readonly field: string;
  readonly min: number;
  readonly max: number;
  readonly whole: boolean;
}

function checkNumber(value: number | undefined, bound: NumberBound): void {
  const { field, min, max, whole } = bound;
  const isGood =
    value === undefined || (value >= min && value <= max && (!whole || Number.isInteger(value)));
  if (!isGood) {
    const expected = `${whole ? "a whole number" : "a number"} from ${min} to ${max}`;
    throw new DefinitionInvalid(
      `Expected ${field} to be ${expected}, but it is ${value}. Choose another one.`,
    );
  }
}

/** A retry policy as it is sent. */
export function buildRetry(retry: RetryOptions): RetryPolicy {
  const message = create(RetryPolicySchema, {
    attemptsMax: retry.attempts ?? 0,
    backoffCoefficient: retry.coefficient ?? 0,
    nonRetryable: [...(retry.nonRetryable ?? [])],
    onExhausted: retry.onExhausted === "ask" ? OnExhausted.ASK : OnExhausted.UNSPECIFIED,
    workerLossesMax: retry.workerLosses ?? 0,
  });
  if (retry.initial !== undefined) {
    message.initialInterval = duration(retry.initial, "retry.initial");
  }
  if (retry.max !== undefined) {
    message.intervalMax = duration(retry.max, "retry.max");
  }
  if (retry.jitter !== undefined) {
    message.jitter = retry.jitter;
  }
  return message;
}

/** Timeouts as they are sent. */
export function buildTimeouts(timeouts: TimeoutOptions): TaskTimeouts {
  const message = create(TaskTimeoutsSchema);
  for (const name of ["scheduleToStart", "startToClose", "scheduleToClose", "lease"] as const) {
    const value = timeouts[name];
    if (value !== undefined) {
      message[name] = duration(value, `timeouts.${name}`);
    }
  }
  return message;
}

function duration(value: Duration, field: string): ProtoDuration {
  return create(DurationSchema, toProtoDuration(parseDuration(value, field)));
}
