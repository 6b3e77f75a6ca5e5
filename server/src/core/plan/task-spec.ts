import type { OnNeedFailure } from "@pawl/proto/v1/plan_pb.js";

/** One task of a compiled plan, with every default filled in. Times in ms. */
export interface TaskSpec {
  readonly number: number;
  readonly name: string;
  readonly kind: string;
  readonly queue: string;
  /** Numbers of the tasks it needs, in the order the plan names them. */
  readonly needs: readonly number[];
  /** How many of its needs it waits for; undefined: all, and it is SKIPPED when one fails. */
  readonly join: JoinSpec | undefined;
  /** Numbers of the tasks that need it. */
  readonly dependents: readonly number[];
  /** Its own input as received; absent: the run's. */
  readonly input: Uint8Array | undefined;
  readonly priority: number;
  readonly retry: RetrySpec;
  /** From READY until taken. Undefined: no limit. */
  readonly scheduleToStartMs: number | undefined;
  /** From the claim until the report. Undefined: no limit. */
  readonly startToCloseMs: number | undefined;
  /** From the first READY until the end. Undefined: no limit. */
  readonly scheduleToCloseMs: number | undefined;
  readonly leaseMs: number;
  readonly cancelGraceMs: number;
}

/** What a task waits for, of the tasks that it needs. */
export interface JoinSpec {
  /** How many of them must count, from 1. */
  readonly atLeast: number;
  /** What it means that one did not complete, by its number; SKIP for those that are not here. */
  readonly rules: ReadonlyMap<number, OnNeedFailure>;
}

/** A retry policy with every default filled in. */
export interface RetrySpec {
  readonly attemptsMax: number;
  readonly initialMs: number;
  readonly coefficient: number;
  readonly intervalMsMax: number;
  readonly nonRetryable: ReadonlySet<string>;
  /** Share of each wait that is random, 0 to 1. */
  readonly jitter: number;
  /** True: a person is asked when the attempts are used up. */
  readonly asksWhenExhausted: boolean;
  /** Attempts in a row that may lose their worker before a person is asked. */
  readonly workerLossesMax: number;
}

/** A plan that was checked and compiled. Immutable; shared by all runs whose plan has the same bytes. */
export interface CompiledPlan {
  /** The plan as received. */
  readonly bytes: Uint8Array;
  readonly tasks: readonly TaskSpec[];
  readonly byName: ReadonlyMap<string, number>;
  /** Number of the task whose output is the run's; undefined: the run has none. */
  readonly output: number | undefined;
  /** By number, the place of each task in an order in which it comes after all that it needs; undefined when no task has a join. */
  readonly ranks: readonly number[] | undefined;
}
