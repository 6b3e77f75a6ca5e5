import type { RevisePlan } from "@pawl/server/core/command.js";
import type { EventBody } from "@pawl/server/core/event.js";
import { planOf, type TaskParts } from "./plans.js";

/** Revises the plan of the run to these tasks. */
export function revisePlan(
  expectedPlanVersion: number,
  tasks: Readonly<Record<string, TaskParts>>,
  parts: Partial<RevisePlan> & { readonly output?: string } = {},
): RevisePlan {
  const { output = "", ...others } = parts;
  return {
    kind: "RevisePlan",
    expectedPlanVersion,
    plan: planOf(tasks, output),
    reason: "better",
    isDryRun: false,
    proposer: undefined,
    alike: undefined,
    ...others,
  };
}

/** The plan is this version from now on. */
export function planRevised(
  planVersion: number,
  tasks: Readonly<Record<string, TaskParts>>,
  numbers: readonly number[],
): Extract<EventBody, { readonly case: "planRevised" }> {
  const plan = planOf(tasks).bytes;
  const value = { planVersion, plan, tasks: [...numbers], reason: "better", principal: "local" };
  return { case: "planRevised", value: { ...value, proposer: 0 } };
}
