import { OnExhausted } from "@pawl/proto/v1/plan_pb.js";
import {
  decodePlan,
  type PlanShape,
  type PlanTaskShape,
  type RetryPolicyShape,
  type TaskTimeoutsShape,
} from "@pawl/proto/v1/plan_wire.js";
import type { DurationShape } from "@pawl/proto/wire/well-known.js";
import { durationMs, showDuration } from "../duration.js";
import { checkId, type IdKind } from "../identity/well-formed-id.js";
import { limits } from "../limits.js";
import type { Rejection } from "../rejection.js";
import { compileJoin, rankTasks } from "./compile-join.js";
import { findCycle } from "./find-cycle.js";
import { PlanProblem } from "./plan-problem.js";
import type { CompiledPlan, JoinSpec, RetrySpec, TaskSpec } from "./task-spec.js";

/** A compiled plan, or why the plan is refused. */
export type CompileResult =
  | { readonly ok: true; readonly plan: CompiledPlan }
  | { readonly ok: false; readonly rejection: Rejection };

/**
 * Checks a plan as received and fills in its defaults. Refusals, in this order: size, form, number of tasks; of all tasks
 * name, duplicate, kind, queue; then task by task needs, join, priority, retry, timeouts, grace; output; cycle.
 */
export function compilePlan(bytes: Uint8Array): CompileResult {
  try {
    return { ok: true, plan: compile(bytes) };
  } catch (error) {
    if (error instanceof PlanProblem) {
      return { ok: false, rejection: error.rejection };
    }
    throw error;
  }
}

function compile(bytes: Uint8Array): CompiledPlan {
  if (bytes.length > limits.planBytesMax) {
    throw new PlanProblem("plan", `at most ${limits.planBytesMax} bytes`, `${bytes.length} bytes`);
  }
  const shape = decode(bytes);
  const count = shape.tasks.length;
  if (count < 1 || count > limits.planTasksMax) {
    throw new PlanProblem("plan.tasks", `1 to ${limits.planTasksMax} tasks`, `${count}`);
  }
  const byName = indexNames(shape);
  const dependents: number[][] = shape.tasks.map(() => []);
  const tasks = shape.tasks.map((task, number) => {
    const needs = resolveNeeds(task, number, byName);
    for (const need of needs) {
      dependents[need]?.push(number);
    }
    const field = `plan.tasks[${number}]`;
    const join = compileJoin(task, needs, field);
    return compileTask(task, { number, needs, join, dependents: dependents[number] ?? [], field });
  });
  const output = resolveOutput(shape, byName);
  const cycle = findCycle(tasks);
  if (cycle !== undefined) {
    throw new PlanProblem("plan.tasks", "a graph without cycles", `the cycle ${cycle.join(" → ")}`);
  }
  return { bytes, tasks, byName, output, ranks: rankTasks(tasks) };
}

function decode(bytes: Uint8Array): PlanShape {
  let problem: string;
  try {
    return decodePlan(bytes);
  } catch (error) {
    problem = error instanceof Error ? error.message : "unreadable";
  }
  throw new PlanProblem("plan", "an encoded pawl.v1.Plan", problem);
}

function indexNames(shape: PlanShape): Map<string, number> {
  const byName = new Map<string, number>();
  for (const [number, task] of shape.tasks.entries()) {
    const field = `plan.tasks[${number}]`;
    requireId("task", task.name, `${field}.name`);
    if (byName.has(task.name)) {
      throw new PlanProblem(`${field}.name`, "unique in the plan", `"${task.name}" a second time`);
    }
    byName.set(task.name, number);
    requireId("kind", task.kind, `${field}.kind`);
    if (task.queue !== "") {
      requireId("queue", task.queue, `${field}.queue`);
    }
  }
  return byName;
}

function requireId(kind: IdKind, value: string, field: string): void {
  const problem = checkId(kind, value, field);
  if (problem !== undefined) {
    throw new PlanProblem(problem.field, problem.expected, problem.actual);
  }
}

function resolveNeeds(
  task: PlanTaskShape,
  number: number,
  byName: ReadonlyMap<string, number>,
): number[] {
  const needs = task.needs.map((name, index) => {
    const need = byName.get(name);
    if (need === undefined) {
      throw new PlanProblem(
        `plan.tasks[${number}].needs[${index}]`,
        "the name of a task of the plan",
        `"${name}"`,
      );
    }
    return need;
  });
  if (new Set(needs).size !== needs.length) {
    throw new PlanProblem(`plan.tasks[${number}].needs`, "each task at most once", "a task twice");
  }
  return needs;
}

function resolveOutput(shape: PlanShape, byName: ReadonlyMap<string, number>): number | undefined {
  if (shape.output === "") {
    return undefined;
  }
  const output = byName.get(shape.output);
  if (output === undefined) {
    throw new PlanProblem("plan.output", "the name of a task of the plan", `"${shape.output}"`);
  }
  return output;
}

/**
 * A task that another one calls, checked, with its defaults.
 *
 * @param number its number in the run.
 * @throws PlanProblem
 */
export function compileCalledTask(task: PlanTaskShape, number: number, field: string): TaskSpec {
  requireId("task", task.name, `${field}.name`);
  requireId("kind", task.kind, `${field}.kind`);
  if (task.queue !== "") {
    requireId("queue", task.queue, `${field}.queue`);
  }
  if (task.needs.length > 0) {
    throw new PlanProblem(`${field}.needs`, "empty in a call", `${task.needs.length} names`);
  }
  if (task.join !== undefined) {
    throw new PlanProblem(`${field}.join`, "absent in a call", "a join");
  }
  return compileTask(task, { number, needs: none, join: undefined, dependents: none, field });
}

/** Why a task cannot be called; undefined when it can. */
export function refuseCall(task: PlanTaskShape, field: string): Rejection | undefined {
  try {
    compileCalledTask(task, 0, field);
    return undefined;
  } catch (error) {
    if (error instanceof PlanProblem) {
      return error.rejection;
    }
    throw error;
  }
}

const none: readonly number[] = [];

interface TaskPlace {
  readonly number: number;
  readonly needs: readonly number[];
  readonly join: JoinSpec | undefined;
  readonly dependents: readonly number[];
}

function compileTask(
  task: PlanTaskShape,
  { field, ...place }: TaskPlace & { readonly field: string },
): TaskSpec {
  if (task.priority > 9) {
    throw new PlanProblem(`${field}.priority`, "0 to 9", `${task.priority}`);
  }
  return {
    ...place,
    name: task.name,
    kind: task.kind,
    queue: task.queue === "" ? task.kind : task.queue,
    input: task.input,
    priority: task.priority,
    retry: compileRetry(task.retry, `${field}.retry`),
    ...compileTimeouts(task.timeouts, `${field}.timeouts`),
    cancelGraceMs:
      readLength(`${field}.cancel_grace`, task.cancelGrace, { min: 0, max: limits.leaseMsMax }) ??
      limits.cancelGraceMsDefault,
  };
}

const defaultRetry: RetrySpec = {
  attemptsMax: limits.attemptsMaxDefault,
  initialMs: limits.backoffInitialMsDefault,
  coefficient: 2,
  intervalMsMax: limits.backoffInitialMsDefault * 100,
  nonRetryable: new Set(),
  jitter: 0.2,
  asksWhenExhausted: false,
  workerLossesMax: limits.workerLossesMaxDefault,
};

/** The timeouts of a task, checked, with their defaults. @throws PlanProblem */
export function compileTimeouts(
  timeouts: TaskTimeoutsShape | undefined,
  path: string,
): Pick<TaskSpec, "scheduleToStartMs" | "startToCloseMs" | "scheduleToCloseMs" | "leaseMs"> {
  const lengthOf = (name: string, value: DurationShape | undefined): number | undefined =>
    readLength(`${path}.${name}`, value, { min: 0, max: limits.timeoutMsMax });
  return {
    scheduleToStartMs: lengthOf("schedule_to_start", timeouts?.scheduleToStart),
    startToCloseMs: lengthOf("start_to_close", timeouts?.startToClose),
    scheduleToCloseMs: lengthOf("schedule_to_close", timeouts?.scheduleToClose),
    leaseMs:
      readLength(`${path}.lease`, timeouts?.lease, {
        min: limits.leaseMsMin,
        max: limits.leaseMsMax,
      }) ?? limits.leaseMsDefault,
  };
}

/** A retry policy, checked, with its defaults. @throws PlanProblem */
export function compileRetry(retry: RetryPolicyShape | undefined, path: string): RetrySpec {
  if (retry === undefined) {
    return defaultRetry;
  }
  requireBetween(`${path}.attempts_max`, retry.attemptsMax, 0, limits.attemptsMaxMax);
  requireBetween(`${path}.worker_losses_max`, retry.workerLossesMax, 0, limits.attemptsMaxMax);
  requireBetween(`${path}.on_exhausted`, retry.onExhausted, 0, OnExhausted.ASK);
  const coefficient =
    retry.backoffCoefficient === 0 ? defaultRetry.coefficient : retry.backoffCoefficient;
  requireBetween(`${path}.backoff_coefficient`, coefficient, 1, 100);
  const jitter = retry.jitter ?? defaultRetry.jitter;
  requireBetween(`${path}.jitter`, jitter, 0, 1);
  if (retry.nonRetryable.length > 100) {
    throw new PlanProblem(
      `${path}.non_retryable`,
      "at most 100 words",
      `${retry.nonRetryable.length}`,
    );
  }
  const initialMs =
    readLength(`${path}.initial_interval`, retry.initialInterval, {
      min: 0,
      max: limits.backoffInitialMsMax,
    }) ?? defaultRetry.initialMs;
  return {
    attemptsMax: retry.attemptsMax === 0 ? defaultRetry.attemptsMax : retry.attemptsMax,
    initialMs,
    coefficient,
    intervalMsMax:
      readLength(`${path}.interval_max`, retry.intervalMax, { min: 0, max: limits.backoffMsMax }) ??
      Math.min(initialMs * 100, limits.backoffMsMax),
    nonRetryable: new Set(retry.nonRetryable),
    jitter,
    asksWhenExhausted: retry.onExhausted === OnExhausted.ASK,
    workerLossesMax:
      retry.workerLossesMax === 0 ? defaultRetry.workerLossesMax : retry.workerLossesMax,
  };
}

function requireBetween(field: string, value: number, min: number, max: number): void {
  // A comparison with NaN is false, so NaN is refused as well.
  if (!(value >= min && value <= max)) {
    throw new PlanProblem(field, `${min} to ${max}`, `${value}`);
  }
}

function readLength(
  field: string,
  value: DurationShape | undefined,
  bounds: { min: number; max: number },
): number | undefined {
  if (value === undefined) {
    return undefined;
  }
  const ms = durationMs(value);
  if (!(ms >= bounds.min && ms <= bounds.max)) {
    throw new PlanProblem(field, `${bounds.min} ms to ${bounds.max} ms`, showDuration(value));
  }
  return ms;
}
