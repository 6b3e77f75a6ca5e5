import {
  decodeSweepRow,
  decodeTombstoneRow,
  encodeSweepRow,
  encodeTombstoneRow,
  type SweepRowShape,
  type TombstoneRowShape,
} from "@pawl/proto/log/v1/row_wire.js";
import type { Run } from "../../core/state.js";
import { sweepKey, tombstoneKey } from "../../log/key.js";
import { readRow, writeRow } from "../../log/row.js";
import { sha256 } from "../../log/sha256.js";
import type { RowPut } from "../../log/store.js";
import type { AsOf } from "./index-rows.js";

/** Version of the payloads of both rows. */
const schemaVersion = 0;

/** Key of what is left of a run id. */
export function tombstoneOfRun(partition: number, namespace: string, runId: string): Uint8Array {
  return keyOf(partition, namespace, runId);
}

/** Key of what is left of the key of an operation of scope NAMESPACE. Ids hold no NUL, so no run has it. */
export function tombstoneOfLedger(
  partition: number,
  namespace: string,
  operationKey: string,
): Uint8Array {
  return keyOf(partition, namespace, `\0${operationKey}`);
}

/** What is left of a deleted aggregate from now on. */
export function tombstonePut(
  at: { readonly partition: number; readonly runNumber: number; readonly asOf: AsOf },
  run: Run,
): RowPut {
  const { partition, runNumber, asOf } = at;
  const { deletion } = run;
  const declaration = (run.operations[0] ?? run.proposals.at(-1))?.declaration;
  const isRun = run.kind === "run";
  const key = isRun
    ? tombstoneOfRun(partition, run.namespace, run.runId)
    : tombstoneOfLedger(partition, run.namespace, declaration?.key ?? "");
  const fingerprint = isRun ? run.fingerprint : (declaration?.fingerprint ?? run.fingerprint);
  const leaseVersion = run.tasks.reduce(
    (most, task) => Math.max(most, task.leaseVersion),
    run.leaseVersionBase,
  );
  const { incarnation } = run;
  const deletedAtMs = deletion?.atMs ?? 0;
  const untilMs = deletion?.tombstoneUntilMs ?? 0;
  const payload = encodeTombstoneRow({
    ...{ fingerprint, incarnation, leaseVersion, deletedAtMs, untilMs },
    ...{ sequence: asOf.sequence, run: runNumber },
  });
  return { key, value: rowOf(key, payload, asOf) };
}

/** @throws StoreDamaged naming the key. */
export function readTombstone(key: Uint8Array, value: Uint8Array): TombstoneRowShape {
  return decodeTombstoneRow(readRow(key, value).payload);
}

/** That rows of a deleted run may be left. */
export function sweepPut(partition: number, runNumber: number, run: Run, asOf: AsOf): RowPut {
  const key = sweepKey.encode({ partition, runNumber });
  const { namespace, deletion } = run;
  const payload = encodeSweepRow({ namespace, deletedAtMs: deletion?.atMs ?? 0 });
  return { key, value: rowOf(key, payload, asOf) };
}

/** A deleted run of which rows may be left. */
export interface Sweep extends SweepRowShape {
  readonly runNumber: number;
  /** Sequence of the event that deleted it: before the horizon has passed it the log would tell of the run again. */
  readonly sequence: number;
}

/** @throws StoreDamaged naming the key. */
export function readSweep({ key, value }: RowPut): Sweep {
  const { payload, asOfSequence } = readRow(key, value);
  const { runNumber } = sweepKey.decode(key);
  return { ...decodeSweepRow(payload), runNumber, sequence: asOfSequence };
}

function keyOf(partition: number, namespace: string, id: string): Uint8Array {
  const runIdHash = sha256(Buffer.from(id, "utf8"));
  return tombstoneKey.encode({ partition, namespace, runIdHash });
}

function rowOf(key: Uint8Array, payload: Uint8Array, { event, sequence }: AsOf): Uint8Array {
  return writeRow(key, { schemaVersion, asOfEvent: event, asOfSequence: sequence, payload });
}
