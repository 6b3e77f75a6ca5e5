import { readU64, writeU64 } from "../../log/bytes.js";
import type { Fence, Store } from "../../log/store.js";
import { readMetaRow, writeMetaRow } from "./meta-rows.js";

/** How much of the log behind the horizon is kept: segments are removed when they are beyond either bound. */
export interface LogRetention {
  /** Bytes of segments that are kept at most, give or take 16 MiB. */
  readonly bytes: number;
  /** How long a segment is kept at most, in ms, give or take a 64th. */
  readonly ms: number;
}

const mib = 1024 * 1024;

/** What holds for a store of which nobody said anything: 256 MiB, 7 days. */
export const logRetentionDefault: LogRetention = {
  bytes: 256 * mib,
  ms: 7 * 24 * 3600 * 1000,
};

const retentionRow = "log retention";

/** The setting that a store keeps; the default when it keeps none. @throws StoreDamaged */
export function readLogRetention(store: Pick<Store, "get">, partition: number): LogRetention {
  const payload = readMetaRow(store, partition, retentionRow);
  return payload === undefined
    ? logRetentionDefault
    : { bytes: readU64(payload, 0), ms: readU64(payload, 8) };
}

/** Changes what is given of the setting, durably; what is not given stays. Resolves with what holds. @throws StoreDamaged, StoreFailed */
export async function keepLogRetention(
  store: Store,
  { partition, fence }: { readonly partition: number; readonly fence: Fence },
  given: Partial<LogRetention>,
): Promise<LogRetention> {
  const stored = readLogRetention(store, partition);
  const kept = { ...stored, ...given };
  if (kept.bytes !== stored.bytes || kept.ms !== stored.ms) {
    const payload = new Uint8Array(16);
    writeU64(payload, 0, kept.bytes);
    writeU64(payload, 8, kept.ms);
    const puts = [writeMetaRow(partition, retentionRow, payload)];
    await store.putRows({ puts, deletes: [], ranges: [] }, fence);
  }
  return kept;
}
