import { copyBytes, readU64, writeU64 } from "../../log/bytes.js";
import { metaKey } from "../../log/key.js";
import type { ChainPoint } from "../../log/segment.js";
import type { RowPut, Store } from "../../log/store.js";
import { readMetaRow, writeMetaRow } from "./meta-rows.js";

/** Proof that something acknowledged is gone: a caller brought a position of this store and epoch that its log does not hold. */
export interface Loss {
  /** What the caller had been told. */
  readonly position: ChainPoint;
  /** Last sequence of the log when that was found. */
  readonly headSequence: number;
  /** Kernel time. */
  readonly foundAtMs: number;
}

const lossRow = "loss";

/** What was found in this or an earlier process, and not decided yet. @throws StoreDamaged */
export function readLoss(store: Pick<Store, "get">, partition: number): Loss | undefined {
  const payload = readMetaRow(store, partition, lossRow);
  if (payload === undefined) {
    return undefined;
  }
  return {
    position: { sequence: readU64(payload, 0), hash: copyBytes(payload, 24, 56) },
    headSequence: readU64(payload, 8),
    foundAtMs: readU64(payload, 16),
  };
}

/** The row that keeps a finding, so that a restart does not forget it. */
export function lossPut(partition: number, { position, headSequence, foundAtMs }: Loss): RowPut {
  const payload = new Uint8Array(56);
  writeU64(payload, 0, position.sequence);
  writeU64(payload, 8, headSequence);
  writeU64(payload, 16, foundAtMs);
  payload.set(position.hash, 24);
  return writeMetaRow(partition, lossRow, payload);
}

/** Its key, to be deleted when a new epoch begins. */
export function lossKey(partition: number): Uint8Array {
  return metaKey.encode({ partition, name: lossRow });
}
