import { identityPut } from "../../log/meta.js";
import type { Store } from "../../log/store.js";
import { Committer } from "../committer.js";
import { Turn } from "../turn.js";
import { type EpochMark, epochsPut, readEpochs } from "./epochs.js";
import { lossKey, readLoss } from "./loss-row.js";
import { type Recovery, recover } from "./recovery.js";

/** How a new epoch begins. */
export interface BeginEpochOptions {
  readonly partition: number;
  /** Wall clock, ms. */
  readonly nowMs: number;
  /** What the operator says about it; may be empty. */
  readonly reason: string;
  /** Told of each boundary, for crash tests. Default: nobody. */
  readonly onStep?: (step: "before" | "event" | "after") => void;
}

/** A new epoch. */
export interface BegunEpoch {
  readonly epoch: number;
  /** Last sequence that it keeps. */
  readonly afterSequence: number;
  /** Last sequence that was acknowledged and is gone, as far as a caller has shown; 0: none has. */
  readonly lostSequence: number;
}

/**
 * Begins a new epoch of a store that no kernel has open: an event of run 0 says so, then the rows that name the epoch. A kill between the
 * two leaves what the next opening finishes. From then on positions of earlier epochs are told that the store was rewound.
 * @throws StoreDamaged, StoreFailed
 */
export async function beginEpoch(store: Store, options: BeginEpochOptions): Promise<BegunEpoch> {
  const { partition, nowMs, reason, onStep = () => {} } = options;
  const recovery = await finishEpoch(store, await recover(store, partition));
  const { head, storeRun, meta } = recovery;
  const epoch = meta.identity.epoch + 1;
  const lostSequence = readLoss(store, partition)?.position.sequence ?? 0;
  const turn = new Turn();
  turn.baseMs = Math.max(nowMs, recovery.lastRecordedMs);
  turn.touched.push(storeRun);
  turn.eventCount = 1;
  storeRun.run.eventCount++;
  const value = {
    ...{ epoch, reason, lostSequence },
    afterSequence: head.sequence,
    afterHash: head.hash,
  };
  storeRun.pending.push({ deltaMs: 0, body: { case: "epochBegan", value } });
  onStep("before");
  await new Committer(store, { epoch }, head).commit(turn).durable;
  onStep("event");
  await writeEpoch(store, recovery, { epoch, after: head, atMs: turn.baseMs });
  onStep("after");
  return { epoch, afterSequence: head.sequence, lostSequence };
}

/** Writes the rows of an epoch whose event is in the log, when a kill came between. The answer knows the epoch. */
export async function finishEpoch(store: Store, recovery: Recovery): Promise<Recovery> {
  const { meta, begunEpoch } = recovery;
  if (begunEpoch === undefined || begunEpoch.epoch <= meta.identity.epoch) {
    return recovery;
  }
  await writeEpoch(store, recovery, begunEpoch);
  const identity = { ...meta.identity, epoch: begunEpoch.epoch };
  return { ...recovery, meta: { ...meta, identity } };
}

async function writeEpoch(
  store: Store,
  { partition, meta }: Recovery,
  mark: EpochMark,
): Promise<void> {
  const { epoch } = mark;
  const marks = [...readEpochs(store, partition).filter((old) => old.epoch < epoch), mark];
  await store.putRows(
    {
      puts: [identityPut(partition, { ...meta.identity, epoch }), epochsPut(partition, marks)],
      deletes: [lossKey(partition)],
      ranges: [],
    },
    { epoch },
  );
}
