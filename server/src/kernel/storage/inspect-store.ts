import { readMeta } from "../../log/meta.js";
import { type PeekedStore, peekStore } from "../../log/peek-store.js";
import type { ChainPoint } from "../../log/segment.js";
import { describeLoss } from "../hold.js";
import { type LogRetention, readLogRetention } from "./log-retention.js";
import { readLoss } from "./loss-row.js";
import { readSetAside } from "./set-aside.js";

/** What a store says of itself, while no kernel serves it. */
export interface StoreInsight {
  readonly storeId: string;
  readonly epoch: number;
  readonly createdAtMs: number;
  /** Up to here all runs are in rows. */
  readonly horizonSequence: number;
  /** Where the log begins. */
  readonly anchor: ChainPoint;
  readonly retention: LogRetention;
  /** Why a kernel that opens it is read-only; empty when it takes work. */
  readonly readOnlyReason: string;
  /** Numbers of the runs whose rows are damaged and that are refused. */
  readonly setAsideRuns: readonly number[];
}

/** Looks at the store of a data folder whose files were checked. Writes nothing there. Errors: `StoreDamaged`, and LevelDB's own. */
export function inspectStore(directory: string, partition: number): Promise<StoreInsight> {
  return peekStore(directory, (store) => insightOf(store, partition));
}

function insightOf(store: PeekedStore, partition: number): StoreInsight {
  const { identity, horizon, anchor } = readMeta(store, partition);
  const loss = readLoss(store, partition);
  return {
    storeId: identity.storeId,
    epoch: identity.epoch,
    createdAtMs: identity.createdAtMs,
    horizonSequence: horizon.sequence,
    anchor,
    retention: readLogRetention(store, partition),
    readOnlyReason: loss === undefined ? "" : describeLoss(loss),
    setAsideRuns: readSetAside(store, partition),
  };
}
