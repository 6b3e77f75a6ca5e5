import { create } from "@bufbuild/protobuf";
import { type Join, JoinSchema, OnNeedFailure } from "@pawl/proto/v1/plan_pb.js";
import { DefinitionInvalid } from "../errors.js";
import type { PlanTask } from "../plan.js";

type Need = NonNullable<PlanTask["needs"]>[number];

const rules = {
  skip: OnNeedFailure.SKIP,
  fail: OnNeedFailure.FAIL,
  continue: OnNeedFailure.CONTINUE,
} as const;

/** Name of a task that is needed. */
export function nameOfNeed(need: Need): string {
  return typeof need === "string" ? need : need.task;
}

/**
 * What a task waits for, as it is sent; undefined when it waits for all and is skipped when one fails.
 *
 * @throws DefinitionInvalid for a number that its needs cannot reach, or a rule that is none.
 */
export function buildJoin(name: string, { needs = [], join = "all" }: PlanTask): Join | undefined {
  const atLeast = join === "all" ? 0 : join === "any" ? 1 : join.atLeast;
  if (join !== "all" && !(Number.isInteger(atLeast) && atLeast >= 1 && atLeast <= needs.length)) {
    throw new DefinitionInvalid(
      `Expected the join of task "${name}" to ask for 1 to ${needs.length} of its ${needs.length} needs, but it asks for ${atLeast}. Ask for fewer, or add needs.`,
    );
  }
  const ruled = needs.flatMap((need) => {
    if (typeof need === "string") {
      return [];
    }
    const onFailure = rules[need.onFailure];
    if (onFailure === undefined) {
      throw new DefinitionInvalid(
        `Expected onFailure of need "${need.task}" of task "${name}" to be "skip", "fail" or "continue", but it is ${JSON.stringify(need.onFailure)}. Choose one.`,
      );
    }
    return [{ task: need.task, onFailure }];
  });
  return atLeast === 0 && ruled.length === 0
    ? undefined
    : create(JoinSchema, { atLeast, rules: ruled });
}
