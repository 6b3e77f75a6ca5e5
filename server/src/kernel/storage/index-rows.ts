import { readU32, readU64, toHex, writeU32, writeU64 } from "../../log/bytes.js";
import { text } from "../../log/key-field.js";
import { type Row, readRow, writeRow } from "../../log/row.js";
import { StoreDamaged } from "../../log/store-errors.js";

/**
 * The payloads of index rows: what a key alone does not say. Fixed-width big-endian numbers, strings behind their length in two
 * bytes, as in keys.
 *
 * | row | payload |
 * |---|---|
 * | name | run number u64, incarnation u32 |
 * | operation key | run number u64, operation number u32 (FFFFFFFF while it is only proposed) |
 * | lease | lease version u32, lease length in ms u64, session id, worker |
 */

/** Version of all these payloads. */
const indexSchema = 0;

/** What an index row leads to: a run, and its incarnation or the number of a part. */
export interface IndexTarget {
  readonly runNumber: number;
  readonly number: number;
}

/** Number of the operation in the row of an operation key that was proposed, and not intended yet: no operation has it. */
export const onlyProposed = 0xffff_ffff;

/** What a lease row says of an open lease. */
export interface LeaseRow {
  readonly leaseVersion: number;
  readonly leaseMs: number;
  readonly sessionId: string;
  readonly worker: string;
}

/** As of which event a row is written. */
export interface AsOf {
  readonly event: number;
  readonly sequence: number;
}

/** The value of a name row or an operation key row. */
export function writeTargetRow(key: Uint8Array, target: IndexTarget, asOf: AsOf): Uint8Array {
  const payload = new Uint8Array(12);
  writeU64(payload, 0, target.runNumber);
  writeU32(payload, 8, target.number);
  return writeRow(key, rowOf(payload, asOf));
}

/** @throws StoreDamaged naming the key. */
export function readTargetRow(key: Uint8Array, value: Uint8Array): IndexTarget {
  const { payload } = readRow(key, value);
  if (payload.length !== 12) {
    throw damaged(key);
  }
  return { runNumber: readU64(payload, 0), number: readU32(payload, 8) };
}

/** The value of a lease row. */
export function writeLeaseRow(key: Uint8Array, lease: LeaseRow, asOf: AsOf): Uint8Array {
  const length =
    12 + text.measure(lease.sessionId, "session id") + text.measure(lease.worker, "worker");
  const payload = new Uint8Array(length);
  writeU32(payload, 0, lease.leaseVersion);
  writeU64(payload, 4, lease.leaseMs);
  text.write(payload, text.write(payload, 12, lease.sessionId), lease.worker);
  return writeRow(key, rowOf(payload, asOf));
}

/** @throws StoreDamaged naming the key. */
export function readLeaseRow(key: Uint8Array, value: Uint8Array): LeaseRow {
  const { payload } = readRow(key, value);
  const session = payload.length < 12 ? undefined : text.read(payload, 12);
  const worker = session === undefined ? undefined : text.read(payload, session.end);
  if (session === undefined || worker?.end !== payload.length) {
    throw damaged(key);
  }
  return {
    leaseVersion: readU32(payload, 0),
    leaseMs: readU64(payload, 4),
    sessionId: session.value,
    worker: worker.value,
  };
}

function rowOf(payload: Uint8Array, asOf: AsOf): Row {
  return {
    schemaVersion: indexSchema,
    asOfEvent: asOf.event,
    asOfSequence: asOf.sequence,
    payload,
  };
}

function damaged(key: Uint8Array): StoreDamaged {
  return new StoreDamaged("Expected an index row of this format, but its length is another", {
    key: toHex(key),
  });
}
