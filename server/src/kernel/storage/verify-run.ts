import {
  encodeInputRow,
  encodeObligationRow,
  encodeOperationRow,
  encodePlanVersionRow,
  encodeProposalRow,
  encodeReviewRow,
  encodeRunRow,
  encodeSignalRow,
  encodeStepRow,
  encodeTaskRow,
  encodeWaitRow,
  type RunRowShape,
} from "@pawl/proto/log/v1/row_wire.js";
import { CorruptHistory } from "../../core/apply/corrupt.js";
import { inlineRun, type RunRows, splitRows } from "../../core/rows/run-to-rows.js";
import type { MutableRun } from "../../core/state.js";
import { equalBytes, toHex } from "../../log/bytes.js";
import { leaseKey, nameKey, operationKeyKey, sweepKey } from "../../log/key.js";
import type { EventSlice } from "../../log/segment.js";
import { sha256 } from "../../log/sha256.js";
import { StoreDamaged } from "../../log/store-errors.js";
import { indexRun } from "./index-entries.js";
import { readLeaseRow, readTargetRow } from "./index-rows.js";
import { replay } from "./replay.js";
import { emptyParts, type StoredRunRow } from "./run-rows.js";
import { chunkAt, type RowSource, readParts } from "./stored-run.js";
import { tombstonePut } from "./tombstone-rows.js";
import { withoutUnrecorded } from "./unrecorded-events.js";

/** Rows that stand for a run besides its own: how many there must be of each sort. */
export interface RowCounts {
  chunks: number;
  names: number;
  operationKeys: number;
  /** Visibility, timer, ready, lease and owed rows. */
  index: number;
}

/**
 * Checks that the rows of one run say exactly what its history says, that every row which should stand for it stands, and that what the
 * tail has beyond fits on top.
 * @returns how many rows must stand for it.
 * @throws StoreDamaged naming the run.
 */
export async function verifyRun(
  source: RowSource,
  runNumber: number,
  stored: StoredRunRow,
  tail: readonly EventSlice[],
): Promise<RowCounts> {
  const { row } = stored;
  const run = replayChunks(source, runNumber, row);
  if (run.eventCount !== row.eventCount) {
    throw differs(source, runNumber, `as of event ${run.eventCount}`, `as of ${row.eventCount}`);
  }
  const parts = await readParts(source, runNumber, row);
  verifyRows(source, runNumber, run, { run: row, ...parts });
  const counts = verifyIndex(source, runNumber, run);
  applies(runNumber, () => replay(run, tail, source.plans));
  return { ...counts, chunks: row.chunkCount };
}

/** Checks that a run which is only in the tail begins there and applies. */
export function verifyTailRun(
  source: RowSource,
  runNumber: number,
  tail: readonly EventSlice[],
): void {
  applies(runNumber, () => replay(undefined, tail, source.plans));
}

function replayChunks(source: RowSource, runNumber: number, row: RunRowShape): MutableRun {
  let run: MutableRun | undefined;
  for (let number = 0; number < row.chunkCount; number++) {
    const slices = chunkAt(source, runNumber, number).slices();
    run = applies(runNumber, () => replay(run, slices, source.plans));
  }
  if (run === undefined) {
    throw differs(source, runNumber, "with a history", "without one");
  }
  return run;
}

function applies<T>(runNumber: number, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof CorruptHistory)) {
      throw error;
    }
    throw inapplicable(runNumber, error);
  }
}

function inapplicable(runNumber: number, cause: CorruptHistory): StoreDamaged {
  return new StoreDamaged(
    `Expected the history of run ${runNumber} to apply, but it does not (${cause.message})`,
    {},
    { cause },
  );
}

/** What is encoded the same is the same: rows hold all of a state that is not derived from it. */
function verifyRows(source: RowSource, runNumber: number, run: MutableRun, stored: RunRows): void {
  const row = stored.run;
  const mark = { count: row.chunkCount, hash: row.chunkHash };
  const told = row.split
    ? withoutUnrecorded(splitRows(run, mark), stored)
    : { ...noParts, run: withoutUnrecorded(inlineRun(run, mark), row) };
  const found = row.split ? stored : { ...noParts, run: row };
  const refuse = (what: string): never => {
    throw differs(source, runNumber, `with the ${what} that its history tells`, "with another");
  };
  if (!equalBytes(encodeRunRow(told.run), encodeRunRow(found.run))) {
    refuse("state");
  }
  requireEqual(told.tasks, found.tasks, encodeTaskRow, () => refuse("tasks"));
  requireEqual(told.operations, found.operations, encodeOperationRow, () => refuse("operations"));
  requireEqual(told.planVersions, found.planVersions, encodePlanVersionRow, () =>
    refuse("versions of the plan"),
  );
  requireEqual(told.steps, found.steps, encodeStepRow, () => refuse("steps"));
  requireEqual(told.signals, found.signals, encodeSignalRow, () => refuse("signals"));
  requireEqual(told.inputs, found.inputs, encodeInputRow, () => refuse("input requests"));
  requireEqual(told.obligations, found.obligations, encodeObligationRow, () =>
    refuse("obligations"),
  );
  requireEqual(told.waits, found.waits, encodeWaitRow, () => refuse("waits"));
  requireEqual(told.reviews, found.reviews, encodeReviewRow, () => refuse("reviews"));
  requireEqual(told.proposals, found.proposals, encodeProposalRow, () => refuse("proposals"));
}

const noParts = emptyParts();

function requireEqual<T>(
  told: readonly T[],
  found: readonly T[],
  encode: (row: T) => Uint8Array,
  refuse: () => never,
): void {
  if (told.length !== found.length) {
    refuse();
  }
  for (const [index, row] of told.entries()) {
    const other = found[index];
    if (other === undefined || !equalBytes(encode(row), encode(other))) {
      refuse();
    }
  }
}

function verifyIndex(source: RowSource, runNumber: number, run: MutableRun): RowCounts {
  const { partition, keys, store } = source;
  let index = 0;
  const asOf = { event: run.eventCount, sequence: 0 };
  indexRun(
    { partition, keys, runNumber, run, asOf },
    {
      entry: (key, _value, stamp) => {
        index++;
        const value = store.get(key);
        if (value === undefined) {
          throw missing(runNumber, key);
        }
        if (key[0] === leaseKey.kind && readLeaseRow(key, value).leaseVersion !== stamp) {
          throw differs(source, runNumber, "with a lease row of that version", "with another");
        }
      },
    },
  );
  if (run.deletion !== undefined) {
    requireBuried(source, runNumber, run);
    return { chunks: 0, names: 0, operationKeys: 0, index };
  }
  let names = 0;
  if (run.kind === "run") {
    names = 1;
    const { namespace, runId } = run;
    requireTarget(source, nameKey.encode({ partition, namespace, runId }), runNumber);
  }
  const operationKeys = new Set([...run.operationsByKey.keys(), ...run.proposalsByKey.keys()]);
  for (const operationKey of operationKeys) {
    const keyHash = sha256(Buffer.from(operationKey, "utf8"));
    const key = operationKeyKey.encode({ partition, namespace: run.namespace, keyHash });
    requireTarget(source, key, runNumber);
  }
  return { chunks: 0, names, operationKeys: operationKeys.size, index };
}

/** A deleted run is found by its tombstone alone, and by the sweep. */
function requireBuried({ partition, store }: RowSource, runNumber: number, run: MutableRun): void {
  const asOf = { event: run.eventCount, sequence: 0 };
  for (const key of [
    tombstonePut({ partition, runNumber, asOf }, run).key,
    sweepKey.encode({ partition, runNumber }),
  ]) {
    if (store.get(key) === undefined) {
      throw missing(runNumber, key);
    }
  }
}

function requireTarget({ store }: RowSource, key: Uint8Array, runNumber: number): void {
  const value = store.get(key);
  if (value === undefined || readTargetRow(key, value).runNumber !== runNumber) {
    throw missing(runNumber, key);
  }
}

function missing(runNumber: number, key: Uint8Array): StoreDamaged {
  return new StoreDamaged(`Expected an index row of run ${runNumber}, but it is missing`, {
    key: toHex(key),
  });
}

function differs(
  source: RowSource,
  runNumber: number,
  expected: string,
  found: string,
): StoreDamaged {
  return new StoreDamaged(
    `Expected the rows of run ${runNumber} ${expected}, but they are ${found}`,
    { key: toHex(source.keys.run(runNumber)) },
  );
}
