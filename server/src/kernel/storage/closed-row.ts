import { equalBytes, readU64, writeU64 } from "../../log/bytes.js";
import type { ChainPoint } from "../../log/segment.js";
import type { RowsWrite, Store } from "../../log/store.js";
import { readMetaRow, writeMetaRow } from "./meta-rows.js";

const rowName = "closed";

/** The rows with which a kernel says that it closed the store, and where the log ended then. Whatever is appended later makes it old. */
export function closedRows(partition: number, head: ChainPoint): RowsWrite {
  const payload = new Uint8Array(8 + head.hash.length);
  writeU64(payload, 0, head.sequence);
  payload.set(head.hash, 8);
  return { puts: [writeMetaRow(partition, rowName, payload)], deletes: [], ranges: [] };
}

/** True when the store was closed with its log ending there. @throws StoreDamaged */
export function wasClosedAt(
  store: Pick<Store, "get">,
  partition: number,
  head: ChainPoint,
): boolean {
  const payload = readMetaRow(store, partition, rowName);
  return (
    payload !== undefined &&
    payload.length === 8 + head.hash.length &&
    readU64(payload, 0) === head.sequence &&
    equalBytes(payload.subarray(8), head.hash)
  );
}
