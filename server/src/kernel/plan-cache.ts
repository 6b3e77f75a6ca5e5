import { compileRecordedPlan } from "../core/apply.js";
import { type CompileResult, compilePlan } from "../core/plan/compile-plan.js";
import type { CompiledPlan } from "../core/plan/task-spec.js";

/** Bytes of plans kept compiled. */
const cachedBytesMax = 16 * 1024 * 1024;

/** Compiled plans by their bytes: runs of one workflow share one, and a plan is parsed once. The oldest unused go first. */
export class PlanCache {
  readonly #plans = new Map<string, CompiledPlan>();
  #bytes = 0;

  /** Compiles a plan as received, or says why it is refused. */
  compile(bytes: Uint8Array): CompileResult {
    const key = keyOf(bytes);
    const cached = this.#plans.get(key);
    if (cached !== undefined) {
      return { ok: true, plan: cached };
    }
    const result = compilePlan(bytes.slice());
    if (result.ok) {
      this.#keep(key, result.plan);
    }
    return result;
  }

  /** The compiled form of a plan that was accepted once. */
  readonly recorded = (bytes: Uint8Array): CompiledPlan => {
    const key = keyOf(bytes);
    const cached = this.#plans.get(key);
    if (cached !== undefined) {
      return cached;
    }
    const plan = compileRecordedPlan(bytes.slice());
    this.#keep(key, plan);
    return plan;
  };

  #keep(key: string, plan: CompiledPlan): void {
    this.#plans.set(key, plan);
    this.#bytes += key.length;
    for (const [oldest] of this.#plans) {
      if (this.#bytes <= cachedBytesMax || oldest === key) {
        break;
      }
      this.#plans.delete(oldest);
      this.#bytes -= oldest.length;
    }
  }
}

function keyOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");
}
