import type { EventMeta, EventValue } from "../event.js";
import { type MutableRun, stepIdentity } from "../state.js";

/** Code of a task recorded a value. */
export function applyStepRecorded(
  run: MutableRun,
  event: EventValue<"stepRecorded">,
  meta: EventMeta,
): void {
  const number = run.steps.length;
  run.steps.push({
    number,
    task: event.task,
    name: event.name,
    key: event.key,
    value: event.value,
    failure: event.failure,
    seenThrough: event.seenThrough,
    observedAtMs: event.observedAtMs,
    eventNumber: meta.number,
  });
  run.stepsByIdentity.set(stepIdentity(event.task, event.name, event.key), number);
}
