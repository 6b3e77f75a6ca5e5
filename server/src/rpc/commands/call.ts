import type { PlanTaskShape } from "@pawl/proto/v1/plan_wire.js";
import type { CallTasks, TaskRef } from "../../core/command.js";
import { limits } from "../../core/limits.js";
import { refuseCall } from "../../core/plan/compile-plan.js";
import { RejectionError } from "../../kernel/outcome.js";
import { scanPayload } from "../payload-scan.js";
import { badField } from "../refusals.js";
import { requireId, requireReason } from "../validate/fields.js";

/** What a task calls and what it gives up. */
export interface CallParts {
  readonly leaseVersion: number;
  readonly tasks: readonly PlanTaskShape[];
  readonly cancels: readonly string[];
  readonly stops: readonly { readonly name: string; readonly reason: string }[];
  readonly abandons: readonly string[];
}

/**
 * The command that calls tasks, checked. Paths of fields are relative to the item.
 *
 * @param inputs Inputs as they are to be recorded, by the place of their task: references to those above the inline bound.
 * @throws RejectionError PAWL_INVALID_FIELD.
 */
export function callCommand(
  { leaseVersion, tasks, cancels, stops, abandons }: CallParts,
  task: TaskRef,
  inputs: ReadonlyMap<number, Uint8Array> = none,
): CallTasks {
  requireSome({ tasks, cancels, stops, abandons });
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
  for (const [index, name] of cancels.entries()) requireId("task", name, `cancels[${index}]`);
  for (const [index, name] of abandons.entries()) requireId("task", name, `abandons[${index}]`);
  for (const [index, { name, reason }] of stops.entries()) {
    requireId("task", name, `stops[${index}].name`);
    requireReason(reason, `stops[${index}].reason`);
  }
  return { kind: "CallTasks", task, leaseVersion, called, cancels, stops, abandons };
}

const none: ReadonlyMap<number, Uint8Array> = new Map();

function requireSome(lists: Readonly<Record<string, readonly unknown[]>>): void {
  const named = Object.entries(lists);
  if (named.every(([, list]) => list.length === 0)) {
    throw badField("tasks", "a task to call, or one to cancel, stop or abandon", "none");
  }
  for (const [field, { length }] of named) {
    if (length > limits.batchItemsMax) {
      throw badField(field, `at most ${limits.batchItemsMax}`, `${length}`);
    }
  }
}

function requireCallable(called: PlanTaskShape, field: string): void {
  const refusal = refuseCall(called, field);
  if (refusal !== undefined) {
    throw new RejectionError(refusal);
  }
}
