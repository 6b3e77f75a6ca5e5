import type { RollbackShape } from "@pawl/proto/v1/rollback_wire.js";
import type { StepItemShape } from "@pawl/proto/v1/worker_service_wire.js";
import type { RecordStep, TaskRef } from "../../core/command.js";
import { limits } from "../../core/limits.js";
import { scanPayload } from "../payload-scan.js";
import { badField } from "../refusals.js";
import { requireFailure } from "../validate/failure.js";
import { requireId } from "../validate/fields.js";

/**
 * The command of one step, checked. Paths of fields are relative to the item.
 *
 * @param value The value as it is to be recorded: that of the item, or a reference to it when it is above the inline bound.
 * @throws RejectionError PAWL_INVALID_FIELD.
 */
export function stepCommand(
  item: StepItemShape,
  task: TaskRef,
  value: Uint8Array | undefined = undefined,
): RecordStep {
  const { name, key, outcome, rollback, publishes } = item;
  requireId("step", name, "name");
  if (key !== undefined) {
    requireId("discriminator", key, "key");
  }
  if (rollback !== undefined) {
    checkRollback(rollback, outcome.case);
  }
  if (publishes !== undefined) {
    requireId("step", publishes, "publishes");
    requireSmall(outcome);
  }
  switch (outcome.case) {
    case "value":
      if (value === undefined) {
        scanPayload(outcome.value, "value");
      }
      return commandOf(item, task, value ?? outcome.value, undefined);
    case "failure":
      requireFailure(outcome.value, "failure");
      return commandOf(item, task, undefined, outcome.value);
    default:
      throw badField("outcome", "one of value, failure", "absent");
  }
}

/** One literal, so that all commands have the same shape: it is read for every step of every run. */
function commandOf(
  { leaseVersion, name, key, seenThrough, read, rollback, publishes, answers }: StepItemShape,
  task: TaskRef,
  value: RecordStep["value"],
  failure: RecordStep["failure"],
): RecordStep {
  return {
    kind: "RecordStep",
    task,
    leaseVersion,
    name,
    key,
    value,
    failure,
    seenThrough,
    read,
    rollback,
    publishes,
    answers,
  };
}

function checkRollback(
  { operation, target, key }: RollbackShape,
  outcome: StepItemShape["outcome"]["case"],
): void {
  requireId("operation", operation, "rollback.operation");
  requireId("target", target, "rollback.target");
  if (key !== undefined) {
    requireId("discriminator", key, "rollback.key");
  }
  if (outcome !== "value") {
    throw badField("outcome", "a value, since it is a rollback", "a failure");
  }
}

/** What is published is kept in the run itself, so that a query needs nothing else. */
function requireSmall({ case: kind, value }: StepItemShape["outcome"]): void {
  const bytes = kind === "value" ? value.length : 0;
  if (bytes > limits.publishedValueBytesMax) {
    const expected = `at most ${limits.publishedValueBytesMax} bytes, since it is published`;
    throw badField("value", expected, `${bytes} bytes`);
  }
}
