import { copyBytes, readU64, writeU64 } from "../../log/bytes.js";
import type { ChainPoint } from "../../log/segment.js";
import type { RowPut, Store } from "../../log/store.js";
import type { LogRetention } from "./log-retention.js";
import { readMetaRow, writeMetaRow } from "./meta-rows.js";

/** A place at which the log may be cut, and how much of it lies before. */
export interface LogMark {
  readonly point: ChainPoint;
  /** Bytes of segments from the beginning of the log to here. */
  readonly endBytes: number;
  /** Kernel time of the segment that ends here. */
  readonly atMs: number;
}

const marksRow = "log marks";
const markBytes = 8 + 8 + 8 + 32;
/** A mark is made when this many bytes or segments have come since the last: a cut removes few enough keys at once. */
const bytesBetween = 16 * 1024 * 1024;
const segmentsBetween = 20_000;
/** As many marks stand in the time that the log is kept, if it grows slowly. */
const marksInTime = 64;
const msBetweenMin = 60_000;

/**
 * Knows how long the log is without reading it: every 16 MiB, or 64th of the time that it is kept, it keeps a mark. The marks up to the horizon stand in a meta row; what
 * lies beyond the horizon is counted again at each start.
 */
export class LogMarks {
  #marks: LogMark[] = [];
  #endBytes = 0;
  #segments = 0;
  #isChanged = false;
  /** Kernel time of the last mark, or of the first segment seen. */
  #lastMs: number | undefined;
  /** Bytes before the place at which the log begins. */
  #beginBytes: number | undefined;
  readonly #msBetween: number;

  /** @param keptMs how long the log is kept. */
  constructor(keptMs: number) {
    this.#msBetween = Math.max(msBetweenMin, keptMs / marksInTime);
  }

  /** Takes over what a start finds. @throws StoreDamaged */
  static read(store: Pick<Store, "get">, partition: number, keptMs: number): LogMarks {
    const marks = new LogMarks(keptMs);
    const payload = readMetaRow(store, partition, marksRow);
    if (payload !== undefined) {
      marks.#endBytes = readU64(payload, 0);
      for (let at = 8; at + markBytes <= payload.length; at += markBytes) {
        const point = {
          sequence: readU64(payload, at),
          hash: copyBytes(payload, at + 24, at + 56),
        };
        const endBytes = readU64(payload, at + 8);
        marks.#marks.push({ point, endBytes, atMs: readU64(payload, at + 16) });
      }
      marks.#lastMs = marks.#marks.at(-1)?.atMs;
    }
    return marks;
  }

  /** Bytes of segments from the beginning of the log to its end. */
  get endBytes(): number {
    return this.#endBytes;
  }

  /** Bytes of segments that were cut off. Until this process has cut some it is not known how many, and a guess. */
  get beginBytes(): number {
    return this.#beginBytes ?? Math.max(0, (this.#marks[0]?.endBytes ?? 0) - bytesBetween);
  }

  /** A segment ends here. */
  add(point: ChainPoint, bytes: number, atMs: number): void {
    this.#endBytes += bytes;
    this.#segments++;
    const before = this.#marks.at(-1)?.endBytes ?? 0;
    this.#lastMs ??= atMs;
    const isOld = atMs - this.#lastMs >= this.#msBetween;
    if (isOld || this.#endBytes - before >= bytesBetween || this.#segments >= segmentsBetween) {
      this.#marks.push({ point, endBytes: this.#endBytes, atMs });
      this.#lastMs = atMs;
      this.#segments = 0;
      this.#isChanged = true;
    }
  }

  /**
   * The row to be written along, when it says something new or is wanted in any case. `beyondBytes`: what lies beyond the horizon,
   * which the next start counts itself.
   */
  put(
    partition: number,
    horizon: ChainPoint,
    { beyondBytes, isWanted }: { readonly beyondBytes: number; readonly isWanted: boolean },
  ): RowPut | undefined {
    if (!this.#isChanged && !isWanted) {
      return undefined;
    }
    const behind = this.#marks.filter((mark) => mark.point.sequence <= horizon.sequence);
    this.#isChanged = behind.length < this.#marks.length;
    const payload = new Uint8Array(8 + behind.length * markBytes);
    writeU64(payload, 0, Math.max(behind.at(-1)?.endBytes ?? 0, this.#endBytes - beyondBytes));
    for (const [index, { point, endBytes, atMs }] of behind.entries()) {
      const at = 8 + index * markBytes;
      writeU64(payload, at, point.sequence);
      writeU64(payload, at + 8, endBytes);
      writeU64(payload, at + 16, atMs);
      payload.set(point.hash, at + 24);
    }
    return writeMetaRow(partition, marksRow, payload);
  }

  /** The next place to cut the log at, since nothing before it need be kept; undefined: keep all. Cut often: one mark at a time. */
  cut(horizon: ChainPoint, nowMs: number, retention: LogRetention): LogMark | undefined {
    const [first] = this.#marks;
    if (first === undefined || first.point.sequence >= horizon.sequence) {
      return undefined;
    }
    const isKept =
      this.#endBytes - first.endBytes <= retention.bytes && nowMs - first.atMs <= retention.ms;
    return isKept ? undefined : first;
  }

  /** Forgets the marks up to a place: the log begins there now. */
  forget(point: ChainPoint): void {
    const last = this.#marks.findLast((mark) => mark.point.sequence <= point.sequence);
    this.#beginBytes = last?.endBytes ?? this.#beginBytes;
    this.#marks = this.#marks.filter((mark) => mark.point.sequence > point.sequence);
    this.#isChanged = true;
  }
}
