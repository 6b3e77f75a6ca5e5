import type { RunRowShape } from "@pawl/proto/log/v1/row_wire.js";
import { CorruptHistory } from "../../core/apply/corrupt.js";
import { emptyLedger, type PlanSource } from "../../core/apply.js";
import { restoreRun } from "../../core/rows/rows-to-run.js";
import type { MutableRun } from "../../core/state.js";
import { toHex } from "../../log/bytes.js";
import { type Chunk, chunkPointOf, readChunk } from "../../log/chunk.js";
import {
  inputRequestKey,
  obligationKey,
  operationKey,
  planVersionKey,
  proposalKey,
  rangeOfRun,
  reviewKey,
  signalKey,
  stepKey,
  taskKey,
  waitKey,
} from "../../log/key.js";
import type { EventSlice } from "../../log/segment.js";
import type { Store } from "../../log/store.js";
import { StoreDamaged } from "../../log/store-errors.js";
import { readPages } from "../../log/store-scan.js";
import { nothingStored, type StoredParts, type StoredState } from "../resident.js";
import { indexRun } from "./index-entries.js";
import type { KeyMaker } from "./key-maker.js";
import { replay } from "./replay.js";
import { noKeys } from "./restarted-rows.js";
import {
  addPart,
  chunkPointOfRow,
  emptyParts,
  type PartRows,
  partKinds,
  partVersions,
  readStoredRunRow,
  type StoredRunRow,
} from "./run-rows.js";

/** A state as of its rows, and what those rows are. */
export interface StoredRun {
  readonly run: MutableRun;
  readonly stored: StoredState;
  /** False when neither the rows nor the history give a state: `run` holds names and the fault only. */
  readonly isSound: boolean;
}

/** What rows are read with. */
export interface RowSource {
  readonly store: Store;
  readonly partition: number;
  readonly plans: PlanSource;
  readonly keys: KeyMaker;
}

const pageRows = 500;

/** The run row of a run, or undefined. @throws StoreDamaged */
export function readRow(
  source: Pick<RowSource, "store" | "keys">,
  runNumber: number,
): StoredRunRow | undefined {
  const key = source.keys.run(runNumber);
  const value = source.store.get(key);
  return value === undefined ? undefined : readStoredRunRow(key, value);
}

/** Reads the parts of a split run, a page at a time. @throws StoreDamaged */
export async function readParts(
  { store, partition }: RowSource,
  runNumber: number,
  row: RunRowShape,
): Promise<PartRows> {
  const parts = emptyParts();
  if (row.split) {
    for (const kind of partKinds) {
      for await (const page of readPages(
        store,
        rangeOfRun(kind, { partition, runNumber }),
        pageRows,
      )) {
        for (const put of page) {
          addPart(parts, put, row.eventCount);
        }
      }
    }
  }
  return parts;
}

/** The same at once, by point reads: for when a state must be made anew in the middle of a turn. */
export function readPartsNow(source: RowSource, runNumber: number, row: RunRowShape): PartRows {
  const parts = emptyParts();
  if (!row.split) {
    return parts;
  }
  const readAll = (kind: number, count: number): void => {
    for (let number = 0; number < count; number++) {
      const key = source.keys.inRun(kind, runNumber, number);
      const value = source.store.get(key);
      if (value !== undefined) {
        addPart(parts, { key, value }, row.eventCount);
      }
    }
  };
  const plan = row.plan === undefined ? undefined : source.plans(row.plan);
  const taskCount = (plan?.tasks.length ?? 0) + row.calledCount;
  readAll(taskKey.kind, row.taskCount === 0 ? taskCount : row.taskCount);
  readAll(operationKey.kind, row.operationCount);
  readAll(stepKey.kind, row.stepCount);
  readAll(reviewKey.kind, row.reviewCount);
  readAll(waitKey.kind, row.waitCount);
  readAll(proposalKey.kind, row.proposalCount);
  readAll(signalKey.kind, row.signalCount);
  readAll(inputRequestKey.kind, row.inputCount);
  readAll(obligationKey.kind, row.obligationCount);
  readAll(planVersionKey.kind, row.planVersionCount);
  return parts;
}

/**
 * Makes the state that rows hold. Rows that give none are passed over: then the history does, from its first event. What is
 * gone wrong even so is a fault of the kernel's own code, and only this run is set aside.
 * @throws StoreDamaged when what is stored is not what was written.
 */
export function restore(
  source: RowSource,
  runNumber: number,
  { row, bytes }: StoredRunRow,
  parts: PartRows,
): StoredRun {
  const nextEventNumber = nextEventOf(source, runNumber, row);
  const chunks = chunkPointOfRow(row, nextEventNumber);
  const { run, isSound, rows } = stateOf(source, runNumber, { row, nextEventNumber }, parts);
  if (isSound && run.eventCount < nextEventNumber - 1) {
    throw new StoreDamaged(
      `Expected the rows of run ${runNumber} to be as of event ${nextEventNumber - 1}, but they are as of ${run.eventCount}`,
      { key: toHex(source.keys.run(runNumber)) },
    );
  }
  return { run, stored: { event: row.eventCount, chunks, ...rows, bytes }, isSound };
}

/** Slices of chunks with events after a number, in order. @throws StoreDamaged */
export function* chunkSlices(
  source: Pick<RowSource, "store" | "keys">,
  runNumber: number,
  range: { readonly chunkCount: number; readonly after: number },
): Generator<EventSlice, void, undefined> {
  const chunks: Chunk[] = [];
  for (let number = range.chunkCount - 1; number >= 0; number--) {
    const chunk = chunkAt(source, runNumber, number);
    chunks.push(chunk);
    if (chunk.firstEventNumber <= range.after + 1) {
      break;
    }
  }
  for (const chunk of chunks.reverse()) {
    yield* chunk.slices();
  }
}

/** One chunk of a run. @throws StoreDamaged, also when it is missing. */
export function chunkAt(
  source: Pick<RowSource, "store" | "keys">,
  runNumber: number,
  chunkNumber: number,
): Chunk {
  const key = source.keys.chunk(runNumber, chunkNumber);
  const value = source.store.get(key);
  if (value === undefined) {
    throw new StoreDamaged(`Expected chunk ${chunkNumber} of run ${runNumber}, but it is missing`, {
      key: toHex(key),
    });
  }
  return readChunk(key, value);
}

/**
 * Number of the event after those in chunks. Rows and chunks are written together, so it is the one after the row's, unless the
 * state could not be kept (its row then says the fault).
 */
function nextEventOf(source: RowSource, runNumber: number, row: RunRowShape): number {
  return row.fault === "" || row.chunkCount === 0
    ? row.eventCount + 1
    : chunkPointOf(chunkAt(source, runNumber, row.chunkCount - 1)).nextEventNumber;
}

/** What the rows hold, as the next checkpoint compares it. */
type RowStamps = Pick<
  StoredState,
  "parts" | "index" | "incarnation" | "operationKeys" | "proposalKeys"
>;

function stateOf(
  source: RowSource,
  runNumber: number,
  at: { readonly row: RunRowShape; readonly nextEventNumber: number },
  parts: PartRows,
): { readonly run: MutableRun; readonly isSound: boolean; readonly rows: RowStamps } {
  const { row } = at;
  let rows: RowStamps = unknownRows;
  try {
    if (row.eventCount !== 0) {
      const run = restoreRun({ run: row, ...parts }, source.plans);
      rows = stampsOf(source, runNumber, run, row.split);
      if (run.eventCount === at.nextEventNumber - 1) {
        return { run, isSound: true, rows };
      }
    }
  } catch (error) {
    requireCorrupt(error);
  }
  try {
    // Not from the rows on: their fault is not one of the history.
    return fromHistory(source, runNumber, row, rows);
  } catch (error) {
    requireCorrupt(error);
    return { run: faultedRun(row, error), isSound: false, rows };
  }
}

function requireCorrupt(error: unknown): asserts error is CorruptHistory {
  if (!(error instanceof CorruptHistory)) {
    throw error;
  }
}

/** Makes a state from all chunks. What is not known of the rows is found on the way, as of the event that they are of. */
function fromHistory(
  source: RowSource,
  runNumber: number,
  row: RunRowShape,
  known: RowStamps,
): { readonly run: MutableRun; readonly isSound: true; readonly rows: RowStamps } {
  const slices = [...chunkSlices(source, runNumber, { chunkCount: row.chunkCount, after: 0 })];
  const ofRows = slices.filter(({ firstEventNumber }) => firstEventNumber <= row.eventCount);
  const then = replay(undefined, ofRows, source.plans);
  const unread =
    then === undefined || known !== unknownRows
      ? undefined
      : stampsOf(source, runNumber, then, row.split);
  const steps = then?.steps.length ?? 0;
  const planVersions = then?.revisions?.versions.length ?? 0;
  const run = replay(then, slices, source.plans);
  if (run === undefined) {
    throw new CorruptHistory(`a history of run ${runNumber}`, "it has no event");
  }
  const isSame = run.incarnation === unread?.incarnation;
  const rows =
    unread === undefined
      ? known
      : asUnwritten(unread, isSame ? { steps: 0, planVersions: 0 } : { steps, planVersions });
  return { run, isSound: true, rows };
}

/** The stamps of a state, of which no row fits: each part is written again. */
function asUnwritten(
  { parts, ...stamps }: RowStamps,
  counts: Pick<StoredParts, "steps" | "planVersions">,
): RowStamps {
  const none = (versions: readonly number[]): number[] => versions.map(() => 0);
  return {
    ...stamps,
    parts:
      parts === undefined
        ? undefined
        : {
            tasks: none(parts.tasks),
            operations: none(parts.operations),
            reviews: none(parts.reviews),
            waits: none(parts.waits),
            proposals: none(parts.proposals),
            signals: none(parts.signals),
            inputs: none(parts.inputs),
            obligations: none(parts.obligations),
            ...counts,
          },
  };
}

function stampsOf(
  source: RowSource,
  runNumber: number,
  run: MutableRun,
  isSplit: boolean,
): RowStamps {
  return {
    parts: isSplit ? partVersions(run) : undefined,
    index: indexOf(source, runNumber, run),
    incarnation: run.incarnation,
    operationKeys: operationKeysOf(run),
    proposalKeys: run.proposals.length,
  };
}

const unknownRows: RowStamps = nothingStored;

/** What can be said of a run whose history does not apply: it is found, refused and shown as faulted. */
export function faultedRun(
  names: Pick<MutableRun, "namespace" | "runId" | "workflow" | "fault">,
  error: Error,
): MutableRun {
  const { namespace, runId, workflow, fault } = names;
  return {
    ...emptyLedger(),
    kind: runId === "" ? "ledger" : "run",
    namespace,
    runId,
    workflow,
    fault: fault === "" ? `read: ${error.message}` : fault,
  };
}

function indexOf(source: RowSource, runNumber: number, run: MutableRun): Map<string, number> {
  const index = new Map<string, number>();
  const { partition, keys } = source;
  const asOf = { event: run.eventCount, sequence: 0 };
  indexRun(
    { partition, keys, runNumber, run, asOf },
    {
      entry: (key, _value, stamp) => {
        index.set(latin1Of(key), stamp);
      },
    },
  );
  return index;
}

/** The keys of all operations of a run, by number. */
export function operationKeysOf({ operations }: Pick<MutableRun, "operations">): readonly string[] {
  return operations.length === 0 ? noKeys : operations.map(({ declaration }) => declaration.key);
}

/** A key as text of one character per byte. */
export function latin1Of(key: Uint8Array): string {
  return Buffer.from(key.buffer, key.byteOffset, key.byteLength).toString("latin1");
}
