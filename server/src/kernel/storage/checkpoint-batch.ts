import type { SealedChunkShape } from "@pawl/proto/log/v1/event_wire.js";
import type { RunRowShape } from "@pawl/proto/log/v1/row_wire.js";
import { emptyLedger } from "../../core/apply.js";
import { type ChunkMark, inlineRun } from "../../core/rows/run-to-rows.js";
import type { Run } from "../../core/state.js";
import { isRunOpen } from "../../core/transitions.js";
import { buildChunk, type ChunkPoint, packChunks } from "../../log/chunk.js";
import { operationKeyKey } from "../../log/key.js";
import type { EventSlice } from "../../log/segment.js";
import { sha256 } from "../../log/sha256.js";
import type { RowPut } from "../../log/store.js";
import { StoreClosed, StoreFailed } from "../../log/store-errors.js";
import type { Resident, StoredState } from "../resident.js";
import { namesOfDeleted } from "./bury.js";
import { indexRun } from "./index-entries.js";
import { type AsOf, type IndexTarget, onlyProposed, writeTargetRow } from "./index-rows.js";
import { rowsOfEarlier, storedOfPresent } from "./restarted-rows.js";
import type { RowWriter } from "./row-writer.js";
import { storeRunNumber } from "./seals.js";
import { latin1Of, operationKeysOf, type RowSource, readRow } from "./stored-run.js";
import { sweepPut, tombstonePut } from "./tombstone-rows.js";

/** What a batch looks at besides the residents. */
export type BatchSource = Pick<RowSource, "store" | "partition" | "keys">;

/** A resident whose state was taken into a batch. */
interface Captured {
  readonly resident: Resident;
  /** Slices that the batch saves: the first so many of the resident's. */
  readonly slices: number;
  readonly stored: Omit<StoredState, "index">;
  readonly index: IndexWrite;
}

/** Index rows that stand after a batch. The map is made only for a run that stays in memory. */
type IndexWrite =
  | { readonly map: ReadonlyMap<string, number> }
  | { readonly keys: readonly Uint8Array[]; readonly stamps: readonly number[] };

/**
 * The rows of some runs, to be written at once. Each run is taken whole: its row, parts that changed, a chunk of its new events, and
 * how its index rows change. The state is read at the moment of `add`; the batch may be written once everything in it is durable.
 */
export class CheckpointBatch {
  readonly puts: RowPut[] = [];
  readonly deletes: Uint8Array[] = [];
  /** Chunks that it writes, to be sealed. */
  readonly chunks: SealedChunkShape[] = [];
  /** Bytes of keys and values. */
  bytes = 0;
  /** Bytes of the events that it saves. */
  eventBytes = 0;
  /** How many deleted runs it buries. */
  buried = 0;
  /** Last sequence that it saves: it must be durable before this is written. */
  lastSequence = 0;
  readonly #captured: Captured[] = [];

  /** The runs that it saves. */
  get residents(): readonly Resident[] {
    return this.#captured.map(({ resident }) => resident);
  }

  readonly #source: BatchSource;
  readonly #rows: RowWriter;
  readonly #onFault: (resident: Resident, error: unknown) => void;

  /** @param onFault told of a run whose state could not be written. */
  constructor(
    source: BatchSource,
    rows: RowWriter,
    onFault: (resident: Resident, error: unknown) => void,
  ) {
    this.#source = source;
    this.#rows = rows;
    this.#onFault = onFault;
  }

  get isEmpty(): boolean {
    return this.#captured.length === 0;
  }

  /** Adds a row of the store itself. */
  put(row: RowPut): void {
    this.puts.push(row);
    this.bytes += row.key.length + row.value.length;
  }

  /** Takes a resident without pending events, and with slices. */
  add(resident: Resident): void {
    const { slices, stored } = resident;
    const last = slices.at(-1);
    if (last === undefined) {
      return;
    }
    const asOf: AsOf = {
      event: last.firstEventNumber + last.count - 1,
      sequence: last.firstSequence + last.count - 1,
    };
    const chunks = this.#putChunks(resident.number, slices, stored.chunks);
    if (!resident.isSound || !this.#tryAddSound(resident, chunks, asOf)) {
      this.#addUnsound(resident, chunks, asOf);
    }
    this.lastSequence = Math.max(this.lastSequence, asOf.sequence);
  }

  /** The batch is durable: residents forget what it saved. Calls back with those that have nothing newer. */
  complete(clean: (resident: Resident) => void): void {
    for (const { resident, slices, stored, index } of this.#captured) {
      if (resident.slices.length === slices) {
        resident.slices = [];
      } else {
        resident.slices.splice(0, slices);
      }
      const isClean = !resident.isDirty;
      const leaves = isClean && isOver(resident);
      resident.stored = { ...stored, index: leaves ? noIndex : mapOf(index) };
      if (isClean) {
        clean(resident);
      }
    }
  }

  #putChunks(runNumber: number, slices: readonly EventSlice[], from: ChunkPoint): ChunkPoint {
    let { nextChunkNumber, nextEventNumber, hash } = from;
    for (const group of packChunks(slices)) {
      const chunkNumber = nextChunkNumber++;
      const built = buildChunk({ runNumber, chunkNumber, prevHash: hash, slices: group });
      hash = built.hash;
      for (const slice of group) {
        nextEventNumber += slice.count;
        this.eventBytes += slice.bytes.length;
      }
      this.#put(this.#source.keys.chunk(runNumber, chunkNumber), built.value);
      this.chunks.push({ run: runNumber, chunk: chunkNumber, hash });
    }
    return { nextChunkNumber, nextEventNumber, hash };
  }

  /** A state that cannot be written is a fault of the kernel's own code: this run alone is set aside. */
  #tryAddSound(resident: Resident, chunks: ChunkPoint, asOf: AsOf): boolean {
    const puts = this.puts.length;
    const deletes = this.deletes.length;
    const { bytes } = this;
    try {
      this.#addSound(resident, chunks, asOf);
      return true;
    } catch (error) {
      if (error instanceof StoreFailed || error instanceof StoreClosed) {
        throw error;
      }
      this.puts.length = puts;
      this.deletes.length = deletes;
      this.bytes = bytes;
      resident.isSound = false;
      resident.run.fault ||= `checkpoint: ${error instanceof Error ? error.message : error}`;
      this.#onFault(resident, error);
      return false;
    }
  }

  #addSound(resident: Resident, chunks: ChunkPoint, asOf: AsOf): void {
    const { run, number: runNumber } = resident;
    const stored = storedOfPresent(resident);
    const chunk = markOf(chunks);
    for (const key of rowsOfEarlier(this.#source, resident)) {
      this.deletes.push(key);
      this.bytes += key.length;
    }
    const put = (key: Uint8Array, value: Uint8Array): void => this.#put(key, value);
    const rows = { runNumber, run, asOf, chunk, stored: stored.parts };
    const written = this.#rows.writeRun(rows, put);
    if (run.deletion !== undefined) {
      this.#bury(resident, asOf);
    } else if (runNumber !== storeRunNumber) {
      this.#putNames(resident, asOf);
    }
    this.#captured.push({
      resident,
      slices: resident.slices.length,
      stored: {
        event: asOf.event,
        chunks,
        parts: written.parts,
        incarnation: run.incarnation,
        operationKeys: operationKeysOf(run),
        proposalKeys: run.proposals.length,
        bytes: Math.max(stored.bytes, written.bytes),
      },
      index: runNumber === storeRunNumber ? { map: noIndex } : this.#putIndex(resident, asOf),
    });
  }

  /**
   * A run whose state could neither be kept nor made anew: its history is saved all the same, so that the horizon can pass it, and its
   * row keeps the last good state and says the fault. Reading it tries to apply the rest again.
   */
  #addUnsound(resident: Resident, chunks: ChunkPoint, asOf: AsOf): void {
    const { run, number: runNumber, stored } = resident;
    const before = readRow(this.#source, runNumber)?.row;
    const { count: chunkCount, hash: chunkHash } = markOf(chunks);
    const row = {
      ...(before ?? bareRow(run)),
      chunkCount,
      chunkHash,
      fault: run.fault,
    };
    const put = (key: Uint8Array, value: Uint8Array): void => this.#put(key, value);
    this.#rows.writeRow({ runNumber, asOf }, row, put);
    this.#putNames(resident, asOf);
    this.#captured.push({
      resident,
      slices: resident.slices.length,
      stored: { ...stored, chunks },
      index: { map: stored.index },
    });
  }

  /** What was deleted is found no more: its tombstone is, and what the sweep will look for. */
  #bury(resident: Resident, asOf: AsOf): void {
    const { run, number: runNumber } = resident;
    const { partition } = this.#source;
    for (const key of namesOfDeleted(this.#source, resident)) {
      this.deletes.push(key);
      this.bytes += key.length;
    }
    this.put(tombstonePut({ partition, runNumber, asOf }, run));
    this.put(sweepPut(partition, runNumber, run, asOf));
    this.buried++;
  }

  /** Rows that are written once in an incarnation: the run's name, and the keys of its operations. */
  #putNames(resident: Resident, asOf: AsOf): void {
    const { run, number: runNumber } = resident;
    const { incarnation, operationKeys, proposalKeys } = storedOfPresent(resident);
    if (incarnation !== run.incarnation && run.kind === "run") {
      const key = this.#source.keys.name(run.namespace, run.runId);
      this.#put(key, writeTargetRow(key, { runNumber, number: run.incarnation }, asOf));
    }
    const { namespace } = run;
    for (let number = operationKeys.length; number < run.operations.length; number++) {
      const operationKey = run.operations[number]?.declaration.key ?? "";
      this.#putOperationKey({ namespace, operationKey }, { runNumber, number }, asOf);
    }
    for (let number = proposalKeys; number < run.proposals.length; number++) {
      const operationKey = run.proposals[number]?.declaration.key ?? "";
      // What a rewind dropped is found by its key no more.
      if (run.proposalsByKey.has(operationKey) && !run.operationsByKey.has(operationKey)) {
        const target = { runNumber, number: onlyProposed };
        this.#putOperationKey({ namespace, operationKey }, target, asOf);
      }
    }
  }

  #putOperationKey(
    { namespace, operationKey }: { readonly namespace: string; readonly operationKey: string },
    target: IndexTarget,
    asOf: AsOf,
  ): void {
    const keyHash = sha256(Buffer.from(operationKey, "utf8"));
    const key = operationKeyKey.encode({ partition: this.#source.partition, namespace, keyHash });
    this.#put(key, writeTargetRow(key, target, asOf));
  }

  #putIndex({ run, number: runNumber, stored }: Resident, asOf: AsOf): IndexWrite {
    const { partition, keys } = this.#source;
    const indexed = { partition, keys, runNumber, run, asOf };
    if (stored.event === 0) {
      const written = { keys: [] as Uint8Array[], stamps: [] as number[] };
      indexRun(indexed, {
        entry: (key, value, stamp) => {
          this.#put(key, value());
          written.keys.push(key);
          written.stamps.push(stamp);
        },
      });
      return written;
    }
    const map = new Map<string, number>();
    indexRun(indexed, {
      entry: (key, value, stamp) => {
        const name = latin1Of(key);
        map.set(name, stamp);
        if (stored.index.get(name) !== stamp) {
          this.#put(key, value());
        }
      },
    });
    for (const name of stored.index.keys()) {
      if (!map.has(name)) {
        this.deletes.push(Buffer.from(name, "latin1"));
        this.bytes += name.length;
      }
    }
    return { map };
  }

  #put(key: Uint8Array, value: Uint8Array): void {
    this.puts.push({ key, value });
    this.bytes += key.length + value.length;
  }
}

const noIndex: ReadonlyMap<string, number> = new Map();

/** A run row that says nothing but names: no state was ever stored. */
function bareRow({ namespace, runId, workflow }: Run): RunRowShape {
  return {
    ...inlineRun(emptyLedger(), { count: 0, hash: noHash }),
    namespace,
    runId,
    workflow,
    eventCount: 0,
  };
}

const noHash = new Uint8Array(0);

/** True for an aggregate that hardly anyone asks for again: it leaves memory as soon as its rows are durable. */
export function isOver({ run }: Resident): boolean {
  return run.kind === "run"
    ? !isRunOpen(run.status)
    : run.unsettled.size === 0 && run.openProposals.size === 0;
}

function markOf(chunks: ChunkPoint): ChunkMark {
  return { count: chunks.nextChunkNumber, hash: chunks.hash };
}

function mapOf(index: IndexWrite): ReadonlyMap<string, number> {
  if ("map" in index) {
    return index.map;
  }
  const map = new Map<string, number>();
  for (const [at, key] of index.keys.entries()) {
    map.set(latin1Of(key), index.stamps[at] ?? 0);
  }
  return map;
}
