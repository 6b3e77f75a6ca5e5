import type { StepRecordShape, WaitOutcomeShape } from "@pawl/proto/v1/worker_service_wire.js";
import type { Run } from "@pawl/server/core/state.js";
import { recordPage, warmPage } from "@pawl/server/rpc/streams/records.js";
import { textOf } from "../contents.js";

/** Something that ended for a function, as its code is given it. */
export interface Given {
  /** Number of the event that ended it. */
  readonly event: number;
  readonly name: string;
  /** What it was, with all that came with it, as text. */
  readonly text: string;
  /** Number of the update that it is; undefined: it is none. */
  readonly update: number | undefined;
}

/** A recorded step. */
export interface RecordedStep {
  readonly name: string;
  /** As JSON text; empty for a failure. */
  readonly value: string;
  /** Name of the operation that it says how to undo with. */
  readonly undoes: string | undefined;
  readonly content: Uint8Array | undefined;
}

/** A page of what is recorded for a function. */
export interface Page {
  readonly steps: readonly RecordedStep[];
  readonly given: readonly Given[];
  /** Where the next page begins; undefined: there is none. */
  readonly next: number | undefined;
}

/** What an offer of a function brings: everything from its first record on, or only what is new since its worker had it. */
export function pageOf(
  run: Run,
  task: number,
  {
    runNumber,
    after,
    isWarm,
  }: { readonly runNumber: number; readonly after: number; readonly isWarm: boolean },
): Page {
  const read = isWarm ? warmPage : recordPage;
  const { steps, outcomes, hasMore, last } = read(run, task, after, runNumber);
  return {
    steps: steps.map(stepOf),
    given: outcomes.map(givenOf),
    next: hasMore ? last : undefined,
  };
}

function stepOf({ name, value, rollback }: StepRecordShape): RecordedStep {
  return { name, value: textOf(value), undoes: rollback?.operation, content: value?.slice() };
}

/** An outcome as the code is given it. */
export function givenOf({ name, number, outcome }: WaitOutcomeShape): Given {
  const update = outcome.case === "update" ? outcome.value.number : undefined;
  return { event: number, name, text: JSON.stringify(outcome, readable), update };
}

/** Payloads as what they hold, and fields in one order: a message says nothing by theirs. */
function readable(_key: string, value: unknown): unknown {
  if (value instanceof Uint8Array) {
    return textOf(value);
  }
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)))
    : value;
}
