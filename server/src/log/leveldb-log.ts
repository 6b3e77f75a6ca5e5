/**
 * Reads LevelDB's log files (`*.log` and `MANIFEST-*`) to find damage before LevelDB touches them. When it opens, it
 * drops what does not fit, says nothing, and removes the old file, so damage in the middle becomes a silent hole.
 *
 * Format (LevelDB, doc/log_format.md): blocks of 32 KiB; in them records of checksum 4 (masked CRC-32C over type and
 * data), length 2, type 1 (full 1, first 2, middle 3, last 4), little-endian, and data. Fewer than 7 bytes at a
 * block's end are zero.
 *
 * A record that the file ends in is what a crash leaves, and no damage. Everything else that does not fit is, for two
 * reasons: bytes reach the file in order, and nothing is written behind a failed write. The second holds but for
 * writes that were already on their way beside the one that failed; after such an end of a handle (`tail: "torn"`)
 * a bad record is the end, if no good one follows.
 */

import { crc32c, unmaskCrc } from "./crc32c.js";

const BLOCK_BYTES = 32 * 1024;
const HEADER_BYTES = 7;
const FULL = 1;
const FIRST = 2;
const MIDDLE = 3;
const LAST = 4;

/** Whether bad bytes at the end of a log, with no good record behind them, are its end (`torn`) or damage. */
export type LogTail = "strict" | "torn";

/** What was found in a log file: its sound records, put together, and the first damage. */
export interface LogContent {
  /** The records' data. Empty unless asked for. */
  readonly records: readonly Uint8Array[];
  /** Where the first damage is, in bytes from the start; undefined if there is none. */
  readonly damagedAt: number | undefined;
}

/** How to read a log file. */
export interface LogReading {
  readonly tail: LogTail;
  /** Whether to put the records together; default false: they are only checked. */
  readonly keepRecords?: boolean;
}

/** Reads a whole log file's bytes. Never throws: damage is part of the answer. */
export function readLevelLog(bytes: Uint8Array, reading: LogReading): LogContent {
  const joined = new JoinedRecords(reading.keepRecords ?? false);
  let at = 0;
  for (;;) {
    const found = recordAt(bytes, at);
    if (found === "end") return { records: joined.records, damagedAt: undefined };
    if (found === "bad" || !joined.add(found)) {
      const isEnd = reading.tail === "torn" && !hasRecordBehind(bytes, at);
      return { records: joined.records, damagedAt: isEnd ? undefined : at };
    }
    at = found.end;
  }
}

/** Puts the parts of records together, in their only legal order: full, or first, any middle ones, last. */
class JoinedRecords {
  readonly records: Uint8Array[] = [];
  readonly #isKept: boolean;
  readonly #parts: Uint8Array[] = [];
  #isOpen = false;

  constructor(isKept: boolean) {
    this.#isKept = isKept;
  }

  /** False if the part cannot stand here. */
  add(part: PhysicalRecord): boolean {
    const isStart = part.type === FULL || part.type === FIRST;
    if (isStart === this.#isOpen) return false;
    this.#isOpen = part.type === FIRST || part.type === MIDDLE;
    if (!this.#isKept) return true;
    this.#parts.push(part.data);
    if (!this.#isOpen) this.records.push(Buffer.concat(this.#parts.splice(0)));
    return true;
  }
}

interface PhysicalRecord {
  readonly type: number;
  readonly data: Uint8Array;
  readonly end: number;
}

/** The record at `offset`, the end of the log (also a torn one), or bytes that are neither. */
function recordAt(bytes: Uint8Array, offset: number): PhysicalRecord | "end" | "bad" {
  const inBlock = offset % BLOCK_BYTES;
  const start = BLOCK_BYTES - inBlock < HEADER_BYTES ? offset - inBlock + BLOCK_BYTES : offset;
  if (!isZero(bytes, offset, Math.min(start, bytes.byteLength))) return "bad";
  if (start + HEADER_BYTES > bytes.byteLength) return "end";
  const view = new DataView(bytes.buffer, bytes.byteOffset + start, HEADER_BYTES);
  const type = view.getUint8(6);
  const end = start + HEADER_BYTES + view.getUint16(4, true);
  if (type === 0) return isZero(bytes, start, bytes.byteLength) ? "end" : "bad";
  if (type > LAST || end > start - (start % BLOCK_BYTES) + BLOCK_BYTES) return "bad";
  const crc = unmaskCrc(view.getUint32(0, true));
  if (end > bytes.byteLength) return isShorterRecord(bytes, { start, type, crc }) ? "bad" : "end";
  const data = bytes.subarray(start + HEADER_BYTES, end);
  return crcOf(type, data) === crc ? { type, data, end } : "bad";
}

/**
 * True if a record that seems to be cut by the end of the file is a whole one with a damaged length: the checksum does
 * not cover the length, but it tells where the data ends, and something sound follows there.
 */
function isShorterRecord(
  bytes: Uint8Array,
  { start, type, crc }: { readonly start: number; readonly type: number; readonly crc: number },
): boolean {
  let running = crcOf(type, new Uint8Array());
  for (let end = start + HEADER_BYTES; ; end += 1) {
    if (running === crc) {
      const next = end === bytes.byteLength ? "end" : recordAt(bytes, end);
      if (next !== "bad" && (next !== "end" || end === bytes.byteLength)) return true;
    }
    if (end === bytes.byteLength) return false;
    running = crc32c(bytes.subarray(end, end + 1), running);
  }
}

function crcOf(type: number, data: Uint8Array): number {
  return crc32c(data, crc32c(Uint8Array.of(type)));
}

/** True if a good record stands anywhere a reader would look for one behind bad bytes at `offset`. */
function hasRecordBehind(bytes: Uint8Array, offset: number): boolean {
  const starts = [nextByLength(bytes, offset)];
  for (let at = nextBlock(offset); at < bytes.byteLength; at = nextBlock(at)) starts.push(at);
  return starts.some((at) => {
    const found = at < bytes.byteLength ? recordAt(bytes, at) : "end";
    return found !== "end" && found !== "bad";
  });
}

function nextByLength(bytes: Uint8Array, offset: number): number {
  if (offset + HEADER_BYTES > bytes.byteLength) return bytes.byteLength;
  const length = new DataView(bytes.buffer, bytes.byteOffset + offset, HEADER_BYTES).getUint16(
    4,
    true,
  );
  return offset + HEADER_BYTES + length;
}

function nextBlock(offset: number): number {
  return offset - (offset % BLOCK_BYTES) + BLOCK_BYTES;
}

function isZero(bytes: Uint8Array, start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) if (bytes[at] !== 0) return false;
  return true;
}
