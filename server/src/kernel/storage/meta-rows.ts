import { metaKey } from "../../log/key.js";
import { readRow, writeRow } from "../../log/row.js";
import type { RowPut, Store } from "../../log/store.js";

/** The kernel's own meta rows, beside those that the log layer keeps (`log/meta.ts`). */

/** A row of the store itself. */
export function writeMetaRow(partition: number, name: string, payload: Uint8Array): RowPut {
  const key = metaKey.encode({ partition, name });
  return {
    key,
    value: writeRow(key, { schemaVersion: 0, asOfEvent: 0, asOfSequence: 0, payload }),
  };
}

/** Its payload, or undefined when it was never written. @throws StoreDamaged */
export function readMetaRow(
  store: Pick<Store, "get">,
  partition: number,
  name: string,
): Uint8Array | undefined {
  const key = metaKey.encode({ partition, name });
  const value = store.get(key);
  return value === undefined ? undefined : readRow(key, value).payload;
}
