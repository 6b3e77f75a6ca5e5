import type { OnNeedFailure } from "@pawl/proto/v1/plan_pb.js";
import { encodePlan, type PlanTaskShape, type RetryPolicyShape } from "@pawl/proto/v1/plan_wire.js";
import type { DurationShape } from "@pawl/proto/wire/well-known.js";
import { compilePlan } from "@pawl/server/core/plan/compile-plan.js";
import type { CompiledPlan } from "@pawl/server/core/plan/task-spec.js";

/** What a test says about a task of a plan; times in ms. */
export interface TaskParts {
  readonly kind?: string;
  readonly queue?: string;
  readonly needs?: readonly string[];
  /** How many of the needs must count, 0 for all, and what the failures of these mean. */
  readonly join?: {
    readonly atLeast?: number;
    readonly rules?: Readonly<Record<string, OnNeedFailure>>;
  };
  readonly input?: Uint8Array;
  readonly priority?: number;
  readonly retry?: Partial<Omit<RetryPolicyShape, "initialInterval" | "intervalMax">> & {
    readonly initialMs?: number;
    readonly intervalMsMax?: number;
  };
  readonly scheduleToStartMs?: number;
  readonly startToCloseMs?: number;
  readonly scheduleToCloseMs?: number;
  readonly leaseMs?: number;
  readonly cancelGraceMs?: number;
}

/** A duration of that many ms; negative and fractional ones too. */
export function durationOf(ms: number): DurationShape {
  const seconds = Math.trunc(ms / 1000);
  return { seconds: BigInt(seconds), nanos: Math.round((ms - seconds * 1000) * 1e6) };
}

function optionalDuration(ms: number | undefined): DurationShape | undefined {
  return ms === undefined ? undefined : durationOf(ms);
}

/** One task of a plan as it goes over the wire. */
export function planTask(name: string, parts: TaskParts = {}): PlanTaskShape {
  const { retry } = parts;
  return {
    name,
    kind: parts.kind ?? "work",
    queue: parts.queue ?? "",
    needs: [...(parts.needs ?? [])],
    input: parts.input,
    retry:
      retry === undefined
        ? undefined
        : {
            attemptsMax: retry.attemptsMax ?? 0,
            initialInterval: optionalDuration(retry.initialMs),
            backoffCoefficient: retry.backoffCoefficient ?? 0,
            intervalMax: optionalDuration(retry.intervalMsMax),
            nonRetryable: [...(retry.nonRetryable ?? [])],
            jitter: retry.jitter,
            onExhausted: retry.onExhausted ?? 0,
            workerLossesMax: retry.workerLossesMax ?? 0,
          },
    timeouts: {
      scheduleToStart: optionalDuration(parts.scheduleToStartMs),
      startToClose: optionalDuration(parts.startToCloseMs),
      scheduleToClose: optionalDuration(parts.scheduleToCloseMs),
      lease: optionalDuration(parts.leaseMs),
    },
    priority: parts.priority ?? 0,
    cancelGrace: optionalDuration(parts.cancelGraceMs),
    join: parts.join && {
      atLeast: parts.join.atLeast ?? 0,
      rules: Object.entries(parts.join.rules ?? {}).map(([task, onFailure]) => ({
        task,
        onFailure,
      })),
    },
  };
}

/** An encoded plan. */
export function encodeTasks(tasks: readonly PlanTaskShape[], output = ""): Uint8Array {
  return encodePlan({ tasks: [...tasks], output });
}

/** A compiled plan, from tasks by name. */
export function planOf(tasks: Readonly<Record<string, TaskParts>>, output = ""): CompiledPlan {
  const shapes = Object.entries(tasks).map(([name, parts]) => planTask(name, parts));
  const result = compilePlan(encodeTasks(shapes, output));
  if (!result.ok) {
    throw new Error(`the test's plan is refused: ${result.rejection.message}`);
  }
  return result.plan;
}
