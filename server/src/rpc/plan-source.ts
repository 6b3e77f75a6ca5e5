import { equalBytes } from "../core/identity/content-digest.js";
import type { CompiledPlan } from "../core/plan/task-spec.js";
import { invalidField } from "../core/rejection.js";
import { RejectionError } from "../kernel/outcome.js";
import { PlanCache } from "../kernel/plan-cache.js";
import { scanPayload } from "./payload-scan.js";

/** Compiles the plans of starts. A plan is parsed and checked once; a batch of one workflow does not even look it up again. */
export class PlanSource {
  readonly #cache: PlanCache = new PlanCache();
  readonly #checked: WeakSet<CompiledPlan> = new WeakSet();
  #last: CompiledPlan | undefined;

  /**
   * The compiled plan of a start.
   *
   * @throws RejectionError when the plan is absent or refused; `field` is its path in the request.
   */
  compile(bytes: Uint8Array | undefined, field: string): CompiledPlan {
    if (bytes === undefined) {
      throw new RejectionError(invalidField(field, "a plan with at least one task", "absent"));
    }
    if (this.#last !== undefined && equalBytes(this.#last.bytes, bytes)) {
      return this.#last;
    }
    const result = this.#cache.compile(bytes);
    if (!result.ok) {
      throw new RejectionError(result.rejection);
    }
    const { plan } = result;
    if (!this.#checked.has(plan)) {
      checkInputs(plan, field);
      this.#checked.add(plan);
    }
    this.#last = plan;
    return plan;
  }
}

function checkInputs(plan: CompiledPlan, field: string): void {
  for (const task of plan.tasks) {
    if (task.input !== undefined) {
      scanPayload(task.input, `${field}.tasks[${task.number}].input`);
    }
  }
}
