import type { StepRecordShape, WaitOutcomeShape } from "@pawl/proto/v1/worker_service_wire.js";
import type { Run, Step, Wait } from "../../core/state.js";
import { shapeOfFailure } from "../views/result-view.js";
import { outcomeShape } from "./wait-outcome.js";

/** Bytes of records that travel with an offer; the rest is read with GetRecords. */
const pageBytes = 262_144;

/** What a task's code recorded and what it was given, as much as fits in one page. */
export interface RecordPage {
  readonly steps: StepRecordShape[];
  readonly outcomes: WaitOutcomeShape[];
  readonly hasMore: boolean;
  /** Event number of the last record; 0: there is none. */
  readonly last: number;
}

/** No records. Shared: never added to. */
export const noRecords: RecordPage = { steps: [], outcomes: [], hasMore: false, last: 0 };

/** The steps of a task, and the ends of its waits, with a greater event number than `after`, in order. At least one, if there is one. */
export function recordPage(run: Run, task: number, after: number, runNumber: number): RecordPage {
  const ended = run.waits.length === 0 ? noWaits : endedWaits(run, task, after);
  const steps: StepRecordShape[] = [];
  const outcomes: WaitOutcomeShape[] = [];
  let bytes = 0;
  let last = 0;
  let next = 0;
  /** Takes a record of so many bytes; false when the page is full. */
  const take = (size: number, number: number): boolean => {
    bytes += size;
    if (last !== 0 && bytes > pageBytes) {
      return false;
    }
    last = number;
    return true;
  };
  /** Takes the waits that ended before this event. */
  const takeWaits = (before: number): boolean => {
    for (
      let wait = ended[next];
      wait !== undefined && wait.endedEvent < before;
      wait = ended[next]
    ) {
      const outcome = outcomeShape(run, wait, runNumber);
      if (!take(outcome.bytes, wait.endedEvent)) {
        return false;
      }
      outcomes.push(outcome.shape);
      next++;
    }
    return true;
  };
  for (const step of run.steps) {
    if (step.task !== task || step.eventNumber <= after) {
      continue;
    }
    if (!takeWaits(step.eventNumber) || !take(bytesOf(step), step.eventNumber)) {
      return { steps, outcomes, hasMore: true, last };
    }
    steps.push(stepShape(step));
  }
  return { steps, outcomes, hasMore: !takeWaits(Number.POSITIVE_INFINITY), last };
}

const noWaits: readonly Wait[] = [];

function endedWaits(run: Run, task: number, after: number): readonly Wait[] {
  return run.waits
    .filter((wait) => wait.task === task && wait.endedEvent > after)
    .sort((one, other) => one.endedEvent - other.endedEvent);
}

function bytesOf(step: Step): number {
  return (step.value?.length ?? 0) + (step.failure === undefined ? 0 : 1024) + 64;
}

/** `pawl.v1.StepRecord` of a recorded step. */
export function stepShape(step: Step): StepRecordShape {
  return {
    name: step.name,
    key: step.key,
    value: step.value,
    failure: step.failure === undefined ? undefined : shapeOfFailure(step.failure),
    observedAtMs: step.observedAtMs,
    seenThrough: step.seenThrough,
    number: step.eventNumber,
  };
}
