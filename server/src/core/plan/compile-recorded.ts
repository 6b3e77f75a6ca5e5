import { CorruptHistory } from "../apply/corrupt.js";
import { compilePlan } from "./compile-plan.js";
import type { CompiledPlan } from "./task-spec.js";

/** Compiles a plan that was accepted once; a refusal now means that the history is not what was written. */
export function compileRecordedPlan(bytes: Uint8Array): CompiledPlan {
  const result = compilePlan(bytes);
  if (!result.ok) {
    throw new CorruptHistory("a recorded plan to compile", result.rejection.message);
  }
  return result.plan;
}
