import type { PlanTaskShape } from "@pawl/proto/v1/plan_wire.js";
import type { CallTasks, TaskRef } from "../../core/command.js";
import { limits } from "../../core/limits.js";
import { refuseCall } from "../../core/plan/compile-plan.js";
import { RejectionError } from "../../kernel/outcome.js";
import { scanPayload } from "../payload-scan.js";
import { badField } from "../refusals.js";
import { requireId } from "../validate/fields.js";

/** What a task calls and what it gives up. */
export interface CallParts {
  readonly leaseVersion: number;
  readonly tasks: readonly PlanTaskShape[];
  readonly cancels: readonly string[];
}

/**
 * The command that calls tasks, checked. Paths of fields are relative to the item.
 *
 * @param inputs Inputs as they are to be recorded, by the place of their task: references to those above the inline bound.
 * @throws RejectionError PAWL_INVALID_FIELD.
 */
export function callCommand(
  { leaseVersion, tasks, cancels }: CallParts,
  task: TaskRef,
  inputs: ReadonlyMap<number, Uint8Array> = none,
): CallTasks {
  requireSome(tasks.length, cancels.length);
  const names = new Set<string>();
  const called = tasks.map((each, index) => {
    const field = `tasks[${index}]`;
    requireCallable(each, field);
    if (names.has(each.name)) {
      throw badField(`${field}.name`, "a name that no other call of the item has", each.name);
    }
    names.add(each.name);
    const admitted = inputs.get(index);
    if (admitted === undefined && each.input !== undefined) {
      scanPayload(each.input, `${field}.input`);
    }
    return admitted === undefined ? each : { ...each, input: admitted };
  });
  for (const [index, name] of cancels.entries()) {
    requireId("task", name, `cancels[${index}]`);
  }
  return { kind: "CallTasks", task, leaseVersion, called, cancels };
}

const none: ReadonlyMap<number, Uint8Array> = new Map();

function requireSome(tasks: number, cancels: number): void {
  if (tasks + cancels === 0) {
    throw badField("tasks", "a task to call, or one to cancel", "neither");
  }
  if (Math.max(tasks, cancels) > limits.batchItemsMax) {
    const field = tasks > limits.batchItemsMax ? "tasks" : "cancels";
    throw badField(field, `at most ${limits.batchItemsMax}`, `${Math.max(tasks, cancels)}`);
  }
}

function requireCallable(called: PlanTaskShape, field: string): void {
  const refusal = refuseCall(called, field);
  if (refusal !== undefined) {
    throw new RejectionError(refusal);
  }
}
