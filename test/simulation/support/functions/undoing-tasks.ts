import { decodePlan } from "@pawl/proto/v1/plan_wire.js";
import type { EventBody } from "@pawl/server/core/event.js";

/** Which tasks of a run undo what others did, by the events alone: tasks that are not of the plan have the next numbers, in the order in which they come. */
export class UndoingTasks {
  readonly #numbers = new Set<number>();
  #planned = 0;
  #next = 0;

  /** Takes every event of the run, in order. */
  hear(body: EventBody): void {
    switch (body.case) {
      case "runStarted":
      case "runRestarted": {
        const { plan } = body.value;
        this.#planned = plan === undefined ? this.#planned : decodePlan(plan).tasks.length;
        this.#begin();
        break;
      }
      case "runContinued":
        this.#begin();
        break;
      case "tasksCalled":
        this.#next += body.value.called.length;
        break;
      case "rollbackBegan":
        this.#numbers.add(this.#next);
        this.#next++;
        break;
      default:
    }
  }

  /** True for one that does. */
  has(task: number): boolean {
    return this.#numbers.has(task);
  }

  #begin(): void {
    this.#numbers.clear();
    this.#next = this.#planned;
  }
}
