import type { EventMeta, EventValue } from "../event.js";
import { type MutableRun, stepIdentity } from "../state.js";
import { CorruptHistory } from "./corrupt.js";
import { indexStep } from "./indices.js";
import { keepBytes, keepFailure } from "./keep.js";
import { taskOf } from "./move-task.js";

/** Code of a task recorded a value. */
export function applyStepRecorded(
  run: MutableRun,
  event: EventValue<"stepRecorded">,
  meta: EventMeta,
): void {
  const number = run.steps.length;
  const identity = stepIdentity(event.task, event.name, event.key);
  if (run.stepsByIdentity.has(identity)) {
    throw new CorruptHistory(`step "${event.name}" to be recorded once`, "it was before");
  }
  run.steps.push({
    number,
    task: event.task,
    name: event.name,
    key: event.key,
    value: keepBytes(event.value),
    failure: keepFailure(event.failure),
    seenThrough: event.seenThrough,
    observedAtMs: event.observedAtMs,
    eventNumber: meta.number,
    rollback: event.rollback,
  });
  if (event.rollback !== undefined) {
    taskOf(run, event.task).rollback ??= "declared";
  }
  indexStep(run, event, number);
}
