import type { PlanTaskShape } from "@pawl/proto/v1/plan_wire.js";
import { CorruptHistory } from "../apply/corrupt.js";
import { compileCalledTask, compilePlan, refuseCall } from "./compile-plan.js";
import type { CompiledPlan, TaskSpec } from "./task-spec.js";

/** Compiles a plan that was accepted once; a refusal now means that the history is not what was written. */
export function compileRecordedPlan(bytes: Uint8Array): CompiledPlan {
  const result = compilePlan(bytes);
  if (!result.ok) {
    throw new CorruptHistory("a recorded plan to compile", result.rejection.message);
  }
  return result.plan;
}

/** Compiles a call that was accepted once; a refusal now means that the history is not what was written. */
export function compileRecordedCall(shape: PlanTaskShape, number: number): TaskSpec {
  const refusal = refuseCall(shape, "called");
  if (refusal !== undefined) {
    throw new CorruptHistory("a recorded call to compile", refusal.message);
  }
  return compileCalledTask(shape, number, "called");
}
