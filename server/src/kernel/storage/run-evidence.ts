import { readChunk } from "../../log/chunk.js";
import { blobKey, chunkKey } from "../../log/key.js";
import { readRow } from "../../log/row.js";
import type { EventSlice } from "../../log/segment.js";
import type { Store } from "../../log/store.js";
import { readPages } from "../../log/store-scan.js";
import { sealsOf } from "../../log/verify-seals.js";
import type { Loop } from "../loop.js";
import type { Resident } from "../resident.js";
import { storeRunNumber } from "./seals.js";

/** A piece of what a run is made of, as it is stored. */
export type EvidencePiece =
  /** A chunk of the history, whole: its bytes prove themselves (`log/chunk.ts`). */
  | {
      readonly kind: "chunk";
      readonly runNumber: number;
      readonly chunkNumber: number;
      readonly value: Uint8Array;
    }
  /** Durable events that are in no chunk yet. */
  | { readonly kind: "slice"; readonly runNumber: number; readonly slice: EventSlice }
  /** Part of content that was moved out of the events. */
  | {
      readonly kind: "blob";
      readonly runNumber: number;
      readonly sha256: Uint8Array;
      readonly chunkNumber: number;
      readonly data: Uint8Array;
    };

/** What evidence is read from. */
export interface RunEvidenceParts {
  readonly store: Store;
  readonly partition: number;
  readonly loop: Loop;
}

/** Rows read at once: chunks are at most 64 KiB but for one large event, rows of content at most 1 MiB. */
const pageRows = 4;

/** Reads what proves the history of runs. Every value is verified on its way. */
export class RunEvidence {
  readonly #parts: RunEvidenceParts;

  constructor(parts: RunEvidenceParts) {
    this.#parts = parts;
  }

  /** Chunks in order, then what is in none yet, then content. Nothing for a run that does not exist. @throws StoreDamaged */
  async *read(runNumber: number): AsyncGenerator<EvidencePiece, void, undefined> {
    const { store, partition, loop } = this.#parts;
    let chunkNumber = 0;
    for (;;) {
      const resident = await this.#load(runNumber);
      if (resident === undefined) {
        return;
      }
      // Without a pause between looking into memory and into the store: what a checkpoint moves is always in one of the two.
      if (chunkNumber >= resident.stored.chunks.nextChunkNumber) {
        yield* durableSlices(resident, loop.durableSequence);
        break;
      }
      const key = chunkKey.encode({ partition, runNumber, chunkNumber });
      const value = store.get(key) ?? new Uint8Array();
      readChunk(key, value);
      yield { kind: "chunk", runNumber, chunkNumber, value };
      chunkNumber++;
    }
    yield* this.#blobs(runNumber);
  }

  /** The chunks and slices of the store's own run in which chunks of these runs are sealed. @throws StoreDamaged */
  async *seals(
    runNumbers: ReadonlySet<number>,
    storeRun: Resident,
  ): AsyncGenerator<EvidencePiece, void, undefined> {
    const { store, partition, loop } = this.#parts;
    const isWanted = (slices: Iterable<EventSlice>): boolean => {
      for (const { run } of sealsOf(slices)) if (runNumbers.has(run)) return true;
      return false;
    };
    const range = chunkKey.range({ partition, runNumber: storeRunNumber });
    let inChunks = 0;
    for await (const page of readPages(store, range, pageRows)) {
      for (const { key, value } of page) {
        const chunk = readChunk(key, value);
        inChunks = chunk.firstEventNumber + chunk.count - 1;
        if (isWanted(chunk.slices())) {
          const { chunkNumber } = chunk;
          yield { kind: "chunk", runNumber: storeRunNumber, chunkNumber, value };
        }
      }
    }
    for (const piece of durableSlices(storeRun, loop.durableSequence)) {
      if (piece.slice.firstEventNumber > inChunks && isWanted([piece.slice])) {
        yield piece;
      }
    }
  }

  async *#blobs(runNumber: number): AsyncGenerator<EvidencePiece, void, undefined> {
    const { store, partition } = this.#parts;
    for await (const page of readPages(store, blobKey.range({ partition, runNumber }), pageRows)) {
      for (const { key, value } of page) {
        const { contentHash, chunkNumber } = blobKey.decode(key);
        const { payload } = readRow(key, value);
        yield { kind: "blob", runNumber, sha256: contentHash, chunkNumber, data: payload };
      }
    }
  }

  async #load(runNumber: number): Promise<Resident | undefined> {
    for (;;) {
      const found = this.#parts.loop.residency.find(runNumber);
      if (!(found instanceof Promise)) {
        return found;
      }
      await found;
    }
  }
}

function durableSlices(
  { number: runNumber, slices }: Resident,
  durableSequence: number,
): Extract<EvidencePiece, { kind: "slice" }>[] {
  return slices
    .filter((slice) => slice.firstSequence + slice.count - 1 <= durableSequence)
    .map((slice) => ({ kind: "slice", runNumber, slice }));
}
