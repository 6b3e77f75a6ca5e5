import type { SealedChunkShape } from "@pawl/proto/log/v1/event_wire.js";
import { countersPut, horizonPut } from "../../log/meta.js";
import type { ChainPoint } from "../../log/segment.js";
import type { Fence, Store } from "../../log/store.js";
import type { Loop } from "../loop.js";
import type { LoopListener } from "../loop-parts.js";
import type { Cancellable, Timers } from "../ports.js";
import type { Residency } from "../residency.js";
import type { Resident } from "../resident.js";
import type { Tombstones } from "../tombstones.js";
import type { Turn } from "../turn.js";
import { Borders } from "./borders.js";
import { type BatchSource, CheckpointBatch, isOver } from "./checkpoint-batch.js";
import { batchBytes, type CheckpointOptions, resolveOptions } from "./checkpoint-options.js";
import type { Compactor } from "./compactor.js";
import { DirtyRuns, unsavedBytesOf } from "./dirty-runs.js";
import { Evictor } from "./evictor.js";
import { KeyMaker } from "./key-maker.js";
import { LogMarks } from "./log-marks.js";
import type { LogRetention } from "./log-retention.js";
import { nextRunCounter, type Recovery } from "./recovery.js";
import { RowWriter } from "./row-writer.js";
import { storeRunNumber, Unsealed } from "./seals.js";
import type { SetAside } from "./set-aside.js";
import { Trimmer } from "./trim.js";

export type { CheckpointOptions } from "./checkpoint-options.js";

/** What the checkpointer is built from. */
export interface CheckpointerParts {
  readonly store: Store;
  readonly fence: Fence;
  readonly recovery: Recovery;
  readonly residency: Residency;
  readonly timers: Timers;
  /** Runs for which the log is kept. Default: none. */
  readonly setAside?: SetAside;
  /** Told that there are some from now on. Default: nobody asks for any. */
  readonly tombstones?: Pick<Tombstones, "expect">;
  readonly options?: CheckpointOptions;
  /** How much of the log the store keeps, unless the options say otherwise. Default: `logRetentionDefault`. */
  readonly retention?: LogRetention;
  /** Gives back the room of what is trimmed. Default: nobody does. */
  readonly compactor?: Compactor;
  /** Timers of what the kernel does for itself. Default: `timers`. */
  readonly housekeeping?: Timers;
}

/** Batches whose seals may be on their way at once; the next waits for a commit. */
const unsealedBatchesMax = 4;

/** A batch on its way: held until all in it is durable, then written. */
interface Checkpoint {
  readonly batch: CheckpointBatch;
  readonly horizon: ChainPoint;
  isWritten: boolean;
}

/**
 * Writes the rows of changed runs behind the log and moves the horizon: a loop of its own beside the commits, the oldest change first,
 * one synced batch at a time. Give it to the loop as (part of) its listener.
 */
export class Checkpointer implements LoopListener {
  readonly #parts: CheckpointerParts;
  readonly #options: Required<CheckpointOptions>;
  readonly #source: BatchSource;
  readonly #rows: RowWriter;
  readonly #dirty: DirtyRuns;
  readonly #borders: Borders;
  readonly #marks: LogMarks;
  readonly #trimmer: Trimmer;
  readonly #evictor: Evictor;
  readonly #storeRun: Resident;
  #loop: Loop | undefined;
  #pendingHead: () => ChainPoint;
  #horizon: ChainPoint;
  #checkpoint: Checkpoint | undefined;
  readonly #unsealed: Unsealed;
  #unsavedBytes: number;
  #wasLagging = false;
  /** How many namespaces the last batch with their row held. */
  #savedNamespaces = 0;
  /** How many changes of each other list of the store the last batch with its row held. */
  readonly #savedLists = new Map<object, number>();
  #isOpen = false;
  #isClosing = false;
  #timer: Cancellable | undefined;
  #idle: (() => void)[] = [];

  constructor(parts: CheckpointerParts) {
    const { store, fence, recovery, residency } = parts;
    const { partition, meta } = recovery;
    this.#parts = parts;
    this.#options = resolveOptions(parts.options, parts.retention);
    this.#source = { store, partition, keys: new KeyMaker(partition) };
    this.#rows = new RowWriter(this.#source.keys);
    this.#horizon = meta.horizon;
    this.#dirty = new DirtyRuns(recovery.tail);
    this.#borders = new Borders(meta.horizon, recovery.borders);
    this.#unsavedBytes = recovery.tailBytes;
    this.#pendingHead = () => recovery.head;
    this.#storeRun = recovery.storeRun;
    this.#unsealed = new Unsealed(partition);
    const retention = {
      bytes: this.#options.logRetentionBytes,
      ms: this.#options.logRetentionMs,
    };
    this.#marks = LogMarks.read(store, partition, retention.ms);
    if (recovery.borders.length > 0) {
      this.#marks.add(recovery.head, recovery.tailBytes, recovery.lastRecordedMs);
    }
    this.#trimmer = new Trimmer({
      ...{ store, fence, partition, retention, marks: this.#marks, anchor: meta.anchor },
      ...(parts.compactor === undefined ? {} : { compactor: parts.compactor }),
      trimmable: () => this.#trimmable(this.#horizon),
      now: () => this.#nowMs,
      fail: (error) => this.#loop?.fail(error),
    });
    this.#evictor = new Evictor(residency, {
      residentsMax: this.#options.residentsMax,
      bytesMax: this.#options.residentBytesMax,
    });
  }

  /** Called when the rows of deleted runs are written, and when the horizon may have passed their deletion. */
  onBuried: () => void = () => {};
  /** Last sequence of deleted runs whose rows are written and which the horizon may not have passed. */
  #buriedSequence = 0;

  /** Up to where all runs are stored in rows. */
  get horizon(): ChainPoint {
    return this.#horizon;
  }

  /** Where the log begins: the end of the last segment that was trimmed. */
  get anchor(): ChainPoint {
    return this.#trimmer.anchor;
  }

  /** Bytes of segments from the anchor to the head, about. */
  get logBytes(): number {
    return this.#marks.endBytes - this.#marks.beginBytes;
  }

  /** How much of the log is kept. */
  get retention(): LogRetention {
    const { logRetentionBytes: bytes, logRetentionMs: ms } = this.#options;
    return { bytes, ms };
  }

  /** Bytes of events that are in no rows yet. */
  get unsavedBytes(): number {
    return this.#unsavedBytes;
  }

  /** Every run with something handed over that is in no rows; one may come twice. */
  *unsavedRuns(): Generator<Resident, void, undefined> {
    yield* this.#dirty.values();
    yield* this.#checkpoint?.batch.residents ?? [];
  }

  /** True once `close` was called. */
  get isClosing(): boolean {
    return this.#isClosing;
  }

  /** True while new starts must wait. When it becomes false again, `loop.resumeStarts()` is called. */
  isLagging(): boolean {
    // Its own seals do not count: they alone are no reason to save, so nothing would take them away.
    const lagBytes = this.#unsavedBytes - unsavedBytesOf(this.#storeRun);
    const isLagging = lagBytes > 2 * this.#options.lagBytes;
    this.#wasLagging ||= isLagging;
    return isLagging;
  }

  /** @param pendingHead where the log ends with what was handed to the store: `committer.pendingHead`. */
  attach(loop: Loop, pendingHead: () => ChainPoint): void {
    this.#loop = loop;
    this.#pendingHead = pendingHead;
  }

  /** Begins to write. Before it nothing is written and nothing evicted, so that what is paged in at a start cannot be stale. */
  open(): void {
    this.#isOpen = true;
    // What the tail told again although rows knew it already is not unsaved.
    this.#unsavedBytes = this.#dirty.unsavedBytes() + unsavedBytesOf(this.#storeRun);
    this.#resumeStarts();
    this.#trimmer.begin(this.#parts.housekeeping ?? this.#parts.timers);
    this.#consider();
  }

  /** A run of the tail was read: it is dirty with the tail's slices. */
  recovered(resident: Resident): void {
    this.#dirty.addRecovered(resident);
  }

  /** Appends the seal of chunks that an earlier process wrote and did not seal any more. */
  sealLeft(chunks: readonly SealedChunkShape[]): void {
    if (chunks.length > 0) {
      this.#unsealed.put([...chunks]);
      this.#seal(chunks);
    }
  }

  /** A run was read. True when `relieve` should be called soon. */
  loaded(resident: Resident): boolean {
    return this.#evictor.added(resident);
  }

  /** Evicts what is too much in memory. Call between turns. */
  relieve(): void {
    if (this.#isOpen && this.#loop !== undefined) {
      this.#evictor.relieve(this.#loop.clock.now());
    }
  }

  unsaved(residents: readonly Resident[], bytes: number): void {
    const head = this.#pendingHead();
    this.#borders.push(head);
    this.#marks.add(head, bytes, residents[0]?.slices.at(-1)?.timeBaseMs ?? 0);
    for (const resident of residents) {
      if (resident.number !== storeRunNumber) {
        this.#dirty.add(resident);
      }
    }
    this.#unsavedBytes += bytes;
    this.#consider({ isBetweenTurns: true });
  }

  durable(_turn: Turn): void {
    this.#unsealed.durable(this.#loop?.durableSequence ?? 0);
    const checkpoint = this.#checkpoint;
    if (checkpoint === undefined) {
      this.#consider();
    } else if (!checkpoint.isWritten) {
      this.#write(checkpoint);
    }
  }

  failed(_error: Error): void {
    this.#timer?.cancel();
    void this.#trimmer.close();
    this.#wakeIdle();
  }

  /** Writes what is unsaved and stops. Call when the loop is drained, before it is closed; it commits one last seal. */
  async close(): Promise<void> {
    this.#isClosing = true;
    this.#consider();
    while (this.#isOpen && !this.#hasFailed && !this.#isIdle) {
      await new Promise<void>((resolve) => this.#idle.push(resolve));
    }
    this.#timer?.cancel();
    await this.#trimmer.close();
    await this.#loop?.drained();
  }

  get #hasFailed(): boolean {
    return (
      this.#loop === undefined || this.#loop.failure !== undefined || this.#loop.held !== undefined
    );
  }

  get #isIdle(): boolean {
    return this.#checkpoint === undefined && this.#dirty.isEmpty;
  }

  /** Begins a batch if one is due and none is on its way. Between turns every state is exactly what was handed to the store. */
  #consider(
    { isBetweenTurns }: { readonly isBetweenTurns: boolean } = { isBetweenTurns: false },
  ): void {
    const isFree = this.#checkpoint === undefined && this.#unsealed.batches < unsealedBatchesMax;
    if (!this.#isOpen || this.#hasFailed || !isFree) {
      return;
    }
    const oldest = this.#dirty.oldest;
    if (oldest === undefined) {
      this.#wakeIdle();
      return;
    }
    const ageMs = this.#nowMs - (oldest.slices[0]?.timeBaseMs ?? 0);
    const isDue =
      this.#isClosing ||
      this.#unsavedBytes > this.#options.beginBytes ||
      ageMs >= this.#options.beginAgeMs;
    if (!isDue) {
      this.#armTimer(this.#options.beginAgeMs - ageMs);
      return;
    }
    // The oldest gathers events just now, so its state is ahead of its slices: it is taken when they were handed over.
    if (isBetweenTurns || oldest.pending.length === 0) {
      this.#begin();
    }
  }

  #begin(): void {
    const batch = new CheckpointBatch(this.#source, this.#rows, ({ number }, error) =>
      this.#loop?.faults.record(number, "checkpoint", error),
    );
    const bytesMax = batchBytes(this.#unsavedBytes, this.#options.lagBytes);
    this.#dirty.take((resident) => {
      if (batch.bytes >= bytesMax) {
        return "enough";
      }
      if (resident.pending.length > 0) {
        return "skip";
      }
      batch.add(resident);
      return "taken";
    });
    if (this.#storeRun.pending.length === 0) {
      batch.add(this.#storeRun);
      this.#putNamespaces(batch);
      this.#putLists(batch);
    }
    if (batch.buried > 0) {
      this.#parts.tombstones?.expect();
    }
    const horizon = this.#nextHorizon();
    this.#putMeta(batch, horizon);
    const checkpoint = { batch, horizon, isWritten: false };
    this.#checkpoint = checkpoint;
    this.#write(checkpoint);
  }

  /** The border before the first slice that no batch has taken. */
  #nextHorizon(): ChainPoint {
    const { isRecovering } = this.#dirty;
    if (isRecovering) {
      return this.#horizon; // Runs of the tail are read in any order.
    }
    const storeRunSlice =
      this.#storeRun.pending.length === 0 ? undefined : this.#storeRun.slices[0];
    const first = Math.min(
      this.#dirty.oldest?.slices[0]?.firstSequence ?? Number.POSITIVE_INFINITY,
      storeRunSlice?.firstSequence ?? Number.POSITIVE_INFINITY,
    );
    return this.#borders.before(first === Number.POSITIVE_INFINITY ? undefined : first);
  }

  /** Only beside the store's own run: what its row does not know yet, the tail still tells. */
  #putNamespaces(batch: CheckpointBatch): void {
    const { namespaces, partition } = this.#parts.recovery;
    const row = namespaces.put(partition);
    if (row !== undefined && namespaces.size !== this.#savedNamespaces) {
      this.#savedNamespaces = namespaces.size;
      batch.put(row);
    }
  }

  /** Likewise. */
  #putLists(batch: CheckpointBatch): void {
    const { versions, credentialPolicies, retentions, starts, partition } = this.#parts.recovery;
    for (const list of [versions, credentialPolicies, retentions, starts]) {
      const row =
        list.changes === (this.#savedLists.get(list) ?? 0) ? undefined : list.row(partition);
      this.#savedLists.set(list, list.changes);
      if (row !== undefined) {
        batch.put(row);
      }
    }
  }

  #putMeta(batch: CheckpointBatch, horizon: ChainPoint): void {
    const { partition } = this.#parts.recovery;
    batch.put(this.#unsealed.put(batch.chunks));
    batch.put(horizonPut(partition, horizon));
    batch.put(countersPut(partition, { [nextRunCounter]: this.#loop?.numbers.next ?? 0 }));
    const marks = this.#marks.put(partition, horizon, {
      beyondBytes: this.#unsavedBytes - batch.eventBytes,
      isWanted: this.#isClosing,
    });
    if (marks !== undefined) {
      batch.put(marks);
    }
  }

  #write(checkpoint: Checkpoint): void {
    const { batch } = checkpoint;
    const { store, fence } = this.#parts;
    if ((this.#loop?.durableSequence ?? 0) < batch.lastSequence) {
      return; // `durable` comes back to it.
    }
    checkpoint.isWritten = true;
    const { puts, deletes } = batch;
    store
      .putRows({ puts, deletes, ranges: [] }, fence)
      .then(() => this.#complete(checkpoint))
      .catch((error: unknown) => this.#loop?.fail(error));
  }

  #complete({ batch, horizon }: Checkpoint): void {
    if (this.#hasFailed) {
      return;
    }
    this.#checkpoint = undefined;
    this.#horizon = horizon;
    this.#unsavedBytes -= batch.eventBytes;
    batch.complete((resident) => {
      if (isOver(resident) && resident.number !== storeRunNumber) {
        this.#parts.residency.evict(resident);
      } else {
        this.#evictor.added(resident);
      }
    });
    this.#dirty.forgetTailWhenSaved();
    this.#seal(batch.chunks);
    this.relieve();
    this.#tellBuried(batch);
    this.#trimmer.trim();
    this.#resumeStarts();
    // Behind a seal the next batch waits for the seal's turn (`unsaved`): with its events pending the store's own run could not be
    // taken along, and would hold the horizon where it is for as long as batches follow each other.
    if (this.#storeRun.pending.length === 0) {
      this.#consider();
    }
  }

  #tellBuried({ buried, lastSequence }: CheckpointBatch): void {
    this.#buriedSequence = buried > 0 ? lastSequence : this.#buriedSequence;
    if (this.#buriedSequence === 0) {
      return;
    }
    if (this.#buriedSequence <= this.#horizon.sequence) {
      this.#buriedSequence = 0;
    }
    this.onBuried();
  }

  /** Up to where the log may be cut: runs that are set aside have events that are in no rows. */
  #trimmable(horizon: ChainPoint): ChainPoint {
    const kept = this.#parts.setAside?.firstSequence ?? Number.POSITIVE_INFINITY;
    return kept > horizon.sequence ? horizon : { ...horizon, sequence: kept - 1 };
  }

  /** Lets starts go on that waited, when it lags no more. */
  #resumeStarts(): void {
    if (this.#wasLagging && !this.isLagging()) {
      this.#wasLagging = false;
      this.#loop?.resumeStarts();
    }
  }

  /** The hashes of written chunks join the chain with the next segment. */
  #seal(chunks: readonly SealedChunkShape[]): void {
    this.#unsealed.sealing(this.#pendingHead().sequence);
    if (chunks.length > 0 && this.#loop !== undefined) {
      const value = { chunks: [...chunks] };
      this.#loop.appendEvents(this.#storeRun, [{ case: "checkpointSealed", value }]);
    }
  }

  get #nowMs(): number {
    return this.#loop?.clock.now() ?? 0;
  }

  #armTimer(delayMs: number): void {
    this.#timer ??= this.#parts.timers.after(Math.max(1, delayMs), () => {
      this.#timer = undefined;
      this.#consider();
    });
  }

  #wakeIdle(): void {
    const idle = this.#idle;
    this.#idle = [];
    for (const resolve of idle) {
      resolve();
    }
  }
}
