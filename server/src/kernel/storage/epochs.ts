import { copyBytes, readU64, writeU64 } from "../../log/bytes.js";
import type { ChainPoint, EventSlice } from "../../log/segment.js";
import type { RowPut, Store } from "../../log/store.js";
import { decodeEvents } from "../decode-events.js";
import { readMetaRow, writeMetaRow } from "./meta-rows.js";

/** Where an epoch of the store began. */
export interface EpochMark {
  /** From 2: the first epoch has no mark. */
  readonly epoch: number;
  /** End of the log of the epoch before, as far as this one keeps it. */
  readonly after: ChainPoint;
  /** Kernel time. */
  readonly atMs: number;
}

const epochsRow = "epochs";
const markBytes = 8 + 8 + 32 + 8;

/** The marks of all epochs, in order. @throws StoreDamaged */
export function readEpochs(store: Pick<Store, "get">, partition: number): EpochMark[] {
  const payload = readMetaRow(store, partition, epochsRow) ?? new Uint8Array(0);
  const marks: EpochMark[] = [];
  for (let at = 0; at + markBytes <= payload.length; at += markBytes) {
    marks.push({
      epoch: readU64(payload, at),
      after: { sequence: readU64(payload, at + 8), hash: copyBytes(payload, at + 16, at + 48) },
      atMs: readU64(payload, at + 48),
    });
  }
  return marks;
}

/** The row of all marks. */
export function epochsPut(partition: number, marks: readonly EpochMark[]): RowPut {
  const payload = new Uint8Array(marks.length * markBytes);
  for (const [index, { epoch, after, atMs }] of marks.entries()) {
    const at = index * markBytes;
    writeU64(payload, at, epoch);
    writeU64(payload, at + 8, after.sequence);
    payload.set(after.hash, at + 16);
    writeU64(payload, at + 48, atMs);
  }
  return writeMetaRow(partition, epochsRow, payload);
}

/** The last epoch that events of run 0 say has begun; undefined when none does. */
export function findBegunEpoch(slices: readonly EventSlice[]): EpochMark | undefined {
  let mark: EpochMark | undefined;
  for (const slice of slices) {
    for (const { body, atMs } of decodeEvents(slice)) {
      if (body.case === "epochBegan") {
        const { epoch, afterSequence, afterHash } = body.value;
        mark = { epoch, after: { sequence: afterSequence, hash: afterHash }, atMs };
      }
    }
  }
  return mark;
}

/** Up to which sequence the present epoch keeps what an earlier one had; undefined for one that is not earlier. */
export function keptThrough(marks: readonly EpochMark[], epoch: number): number | undefined {
  const later = marks.filter((mark) => mark.epoch > epoch);
  return later.length === 0 ? undefined : Math.min(...later.map(({ after }) => after.sequence));
}
