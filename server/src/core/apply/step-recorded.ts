import type { EventMeta, EventValue } from "../event.js";
import { type MutableRun, type MutableStep, stepIdentity } from "../state.js";
import { CorruptHistory } from "./corrupt.js";
import { indexStep } from "./indices.js";
import { keepBytes, keepFailure } from "./keep.js";
import { taskOf } from "./move-task.js";
import { answerUpdate } from "./signals.js";

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
  const step: MutableStep = {
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
    publishes: event.publishes,
    answers: event.answers,
    attempt: event.attempt,
    maxAgeMs: event.maxAgeMs,
    dropped: 0,
  };
  run.steps.push(step);
  if (event.rollback !== undefined) {
    taskOf(run, event.task).rollback ??= "declared";
  }
  indexStep(run, step, identity);
  if (step.answers !== undefined) {
    answerUpdate(run, step, meta);
  }
}
