import { toHex } from "../../log/bytes.js";
import { blobKey } from "../../log/key.js";
import type { EventSlice } from "../../log/segment.js";
import type { Fence, KeyRange, RowPut, Store } from "../../log/store.js";
import { StoreDamaged } from "../../log/store-errors.js";
import { readPages } from "../../log/store-scan.js";
import { marksBefore, readBlobMark } from "./blob-marks.js";
import { KeyMaker } from "./key-maker.js";
import { chunkSlices, readRow } from "./stored-run.js";

/** What a sweep needs. */
export interface BlobSweeperParts {
  readonly store: Store;
  readonly fence: Fence;
  readonly partition: number;
  readonly now: () => number;
  /** Slices of a run that are in no chunk yet. */
  readonly slicesInMemory: (runNumber: number) => readonly EventSlice[];
}

/** Content that no event names for so long is named by none. */
export const unnamedMs: number = 3_600_000;

const pageRows = 100;

/**
 * Removes content that was stored for an event which never came: the start was refused, or the kernel was killed between. Each blob that was
 * stored has a mark; after an hour it is looked for in the history of its run, once. A blob that is named keeps, and loses its mark.
 */
export class BlobSweeper {
  readonly #parts: BlobSweeperParts;
  readonly #keys: KeyMaker;
  /** When each blob was stored, or stored again, in this process. */
  readonly #admitted = new Map<string, number>();
  #isSweeping = false;

  constructor(parts: BlobSweeperParts) {
    this.#parts = parts;
    this.#keys = new KeyMaker(parts.partition);
  }

  /** A blob is being stored: an older mark of the same says nothing any more. */
  admitted(runNumber: number, contentHash: Uint8Array): void {
    this.#admitted.set(nameOf(runNumber, contentHash), this.#parts.now());
  }

  /** Looks at everything older than an hour. Does nothing while one is under way. */
  async sweep(): Promise<void> {
    if (this.#isSweeping) {
      return;
    }
    this.#isSweeping = true;
    try {
      const untilMs = this.#parts.now() - unnamedMs;
      this.#forgetBefore(untilMs);
      const marks = marksBefore(this.#parts.partition, untilMs);
      for await (const page of readPages(this.#parts.store, marks, pageRows)) {
        await this.#sweepPage(page);
      }
    } finally {
      this.#isSweeping = false;
    }
  }

  async #sweepPage(page: readonly RowPut[]): Promise<void> {
    const deletes: Uint8Array[] = [];
    const ranges: KeyRange[] = [];
    for (const { key } of page) {
      const { runNumber, contentHash } = readBlobMark(key);
      deletes.push(key);
      const isStoredAgain = this.#admitted.has(nameOf(runNumber, contentHash));
      if (!isStoredAgain && !this.#mayBeNamed(runNumber, contentHash)) {
        const { partition } = this.#parts;
        ranges.push(blobKey.range({ partition, runNumber, contentHash }));
      }
    }
    await this.#parts.store.putRows({ puts: [], deletes, ranges }, this.#parts.fence);
  }

  /** A run that cannot be read keeps what may be its. */
  #mayBeNamed(runNumber: number, contentHash: Uint8Array): boolean {
    try {
      return this.#isNamed(runNumber, contentHash);
    } catch (error) {
      if (!(error instanceof StoreDamaged)) {
        throw error;
      }
      return true;
    }
  }

  /** Events name content by its hash, which no other bytes of a history contain but by a wonder; then it only stays. */
  #isNamed(runNumber: number, contentHash: Uint8Array): boolean {
    const source = { store: this.#parts.store, keys: this.#keys };
    const row = readRow(source, runNumber)?.row;
    const range = { chunkCount: row?.chunkCount ?? 0, after: 0 };
    for (const slice of chunkSlices(source, runNumber, range)) {
      if (contains(slice, contentHash)) {
        return true;
      }
    }
    return this.#parts.slicesInMemory(runNumber).some((slice) => contains(slice, contentHash));
  }

  #forgetBefore(atMs: number): void {
    for (const [name, admittedMs] of this.#admitted) {
      if (admittedMs < atMs) {
        this.#admitted.delete(name);
      }
    }
  }
}

function contains({ bytes }: EventSlice, contentHash: Uint8Array): boolean {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).includes(
    Buffer.from(contentHash),
  );
}

function nameOf(runNumber: number, contentHash: Uint8Array): string {
  return `${runNumber} ${toHex(contentHash)}`;
}
