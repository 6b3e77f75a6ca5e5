import type { RetryPolicyShape, TaskTimeoutsShape } from "@pawl/proto/v1/plan_wire.js";
import type { Rejection } from "../rejection.js";
import type { Run } from "../state.js";
import { compileRetry, compileTimeouts } from "./compile-plan.js";
import { PlanProblem } from "./plan-problem.js";
import type { TaskSpec } from "./task-spec.js";
import { plannedSpec } from "./tasks-of-run.js";

/** A policy that takes the place of a plan's. */
export interface ChangedPolicy {
  readonly retry?: RetryPolicyShape | undefined;
  readonly timeouts?: TaskTimeoutsShape | undefined;
}

/** A task's specification with a changed policy; undefined when nothing of it is changed. @throws PlanProblem for a bad value. */
export function specWith(
  planned: TaskSpec,
  { retry, timeouts }: ChangedPolicy,
): TaskSpec | undefined {
  if (retry === undefined && timeouts === undefined) {
    return undefined;
  }
  return {
    ...planned,
    ...(retry === undefined ? {} : { retry: compileRetry(retry, "policy.retry") }),
    ...(timeouts === undefined ? {} : compileTimeouts(timeouts, "policy.timeouts")),
  };
}

/** The specification that counts for a task now: its plan's, with what a person changed. */
export function specOf(run: Run, number: number): TaskSpec | undefined {
  return run.tasks[number]?.change?.spec ?? plannedSpec(run, number);
}

/** Why a changed policy is refused; undefined when it is fine. */
export function refusePolicy(planned: TaskSpec, policy: ChangedPolicy): Rejection | undefined {
  try {
    specWith(planned, policy);
    return undefined;
  } catch (error) {
    if (error instanceof PlanProblem) {
      return error.rejection;
    }
    throw error;
  }
}
