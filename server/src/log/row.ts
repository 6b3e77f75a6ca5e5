/**
 * The envelope of every row value.
 *
 * ```
 * 0   schema version        2   of the payload
 * 2   as-of event           4   number, in its run, of the last event that the row knows
 * 6   as-of sequence        8   the same in the log
 * 14  crc32                 4   over the key, the bytes before and the payload
 * 18  payload
 * ```
 * The crc covers the key, so that a sound value under a wrong key is refused too: LevelDB writes only the differing
 * end of a key, and one turned bit there moves a row to another run.
 */

import { crc32 } from "node:zlib";
import { readU16, readU32, readU64, toHex, writeU16, writeU32, writeU64 } from "./bytes.js";
import { StoreDamaged } from "./store-errors.js";

const CRC_OFFSET = 14;
/** Bytes of the envelope before the payload. */
export const ROW_HEADER_BYTES: number = 18;

/** What a row says, and as of when. */
export interface Row {
  /** Version of the payload's schema, 0–65,535. */
  readonly schemaVersion: number;
  /** Number, in its run, of the last event that the row knows; 0 for rows of no run. */
  readonly asOfEvent: number;
  /** The sequence of that event. */
  readonly asOfSequence: number;
  readonly payload: Uint8Array;
}

/** The value to store under `key`. */
export function writeRow(key: Uint8Array, row: Row): Uint8Array {
  const value = Buffer.allocUnsafe(ROW_HEADER_BYTES + row.payload.byteLength);
  writeU16(value, 0, row.schemaVersion);
  writeU32(value, 2, row.asOfEvent);
  writeU64(value, 6, row.asOfSequence);
  value.set(row.payload, ROW_HEADER_BYTES);
  writeU32(value, CRC_OFFSET, crcOf(key, value));
  return value;
}

/** Verifies a stored row; the payload is a view. Errors: `StoreDamaged` naming the key. */
export function readRow(key: Uint8Array, value: Uint8Array): Row {
  if (value.byteLength < ROW_HEADER_BYTES) {
    throw damaged(key, `it is cut to ${value.byteLength} bytes`);
  }
  if (readU32(value, CRC_OFFSET) !== crcOf(key, value))
    throw damaged(key, "its crc32 does not fit");
  return {
    schemaVersion: readU16(value, 0),
    asOfEvent: readU32(value, 2),
    asOfSequence: readU64(value, 6),
    payload: value.subarray(ROW_HEADER_BYTES),
  };
}

function crcOf(key: Uint8Array, value: Uint8Array): number {
  const head = crc32(value.subarray(0, CRC_OFFSET), crc32(key));
  return crc32(value.subarray(ROW_HEADER_BYTES), head);
}

function damaged(key: Uint8Array, found: string): StoreDamaged {
  return new StoreDamaged(`Expected the row that was written, but ${found}`, { key: toHex(key) });
}
