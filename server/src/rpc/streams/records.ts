import type { StepRecordShape, WaitOutcomeShape } from "@pawl/proto/v1/worker_service_wire.js";
import type { Run, Step } from "../../core/state.js";
import { shapeOfFailure } from "../views/result-view.js";
import { endedFor, endOf } from "./ended-for.js";
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

/** The steps of a task, and the outcomes of what it waits for, with a greater event number than `after`, in order. At least one, if there is one. */
export function recordPage(run: Run, number: number, after: number, runNumber: number): RecordPage {
  // What rolls back runs over the records of what ended.
  const task = run.tasks[number]?.rollsBack ?? number;
  const ended = endedFor(run, task, after);
  const steps: StepRecordShape[] = [];
  const outcomes: WaitOutcomeShape[] = [];
  let bytes = 0;
  let last = 0;
  let next = 0;
  /** Takes a record of so many bytes; false when the page is full. Records of one event stay together: the next page begins after it. */
  const take = (size: number, at: number): boolean => {
    bytes += size;
    if (last !== 0 && bytes > pageBytes && at !== last) {
      return false;
    }
    last = at;
    return true;
  };
  /** Takes what ended before this event. */
  const takeEnded = (before: number): boolean => {
    for (let end = ended[next]; end !== undefined && endOf(end) < before; end = ended[next]) {
      const outcome = outcomeShape(run, end, runNumber);
      if (!take(outcome.bytes, endOf(end))) {
        return false;
      }
      outcomes.push(outcome.shape);
      next++;
    }
    return true;
  };
  const numbers = run.tasks[task]?.steps ?? [];
  for (let index = firstAfter(run, numbers, after); index < numbers.length; index++) {
    const step = run.steps[numbers[index] ?? -1];
    if (step === undefined) {
      continue;
    }
    if (!takeEnded(step.eventNumber) || !take(bytesOf(step), step.eventNumber)) {
      return { steps, outcomes, hasMore: true, last };
    }
    steps.push(stepShape(step));
  }
  return { steps, outcomes, hasMore: !takeEnded(Number.POSITIVE_INFINITY), last };
}

/** What a worker that has the task warm, up to an event, does not know: outcomes alone, as much as fits in one page. The steps are its own. */
export function warmPage(run: Run, task: number, after: number, runNumber: number): RecordPage {
  const outcomes: WaitOutcomeShape[] = [];
  let bytes = 0;
  let last = 0;
  for (const end of endedFor(run, task, after)) {
    const outcome = outcomeShape(run, end, runNumber);
    bytes += outcome.bytes;
    if (last !== 0 && bytes > pageBytes && endOf(end) !== last) {
      return { steps: [], outcomes, hasMore: true, last };
    }
    last = endOf(end);
    outcomes.push(outcome.shape);
  }
  return { steps: [], outcomes, hasMore: false, last };
}

/**
 * All outcomes of what a task waits for after an event, in order, and in pages that each fit in a message. Those of one event stay together: who
 * has read one page has read all of its events.
 */
export function outcomePages(
  run: Run,
  task: number,
  after: number,
  runNumber: number,
): WaitOutcomeShape[][] {
  const pages: WaitOutcomeShape[][] = [];
  let page: WaitOutcomeShape[] = [];
  let bytes = 0;
  for (const end of endedFor(run, task, after)) {
    const outcome = outcomeShape(run, end, runNumber);
    bytes += outcome.bytes;
    if (bytes > pageBytes && page.at(-1)?.number !== endOf(end)) {
      page = [];
      bytes = outcome.bytes;
    }
    if (page.length === 0) {
      pages.push(page);
    }
    page.push(outcome.shape);
  }
  return pages;
}

/** Steps lie in the order of their events: where those after one begin. */
function firstAfter(run: Run, numbers: readonly number[], after: number): number {
  let low = 0;
  let high = numbers.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((run.steps[numbers[middle] ?? -1]?.eventNumber ?? 0) > after) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
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
    rollback: step.rollback,
    publishes: step.publishes,
  };
}
