import { createHash } from "node:crypto";
import { decodePayload, encodePayload } from "@pawl/proto/v1/payload_wire.js";
import { limits } from "../../core/limits.js";
import { notFound, type Rejection } from "../../core/rejection.js";
import { toHex } from "../../log/bytes.js";
import { blobKey } from "../../log/key.js";
import { readRow, writeRow } from "../../log/row.js";
import { sha256 } from "../../log/sha256.js";
import type { Fence, RowPut, Store } from "../../log/store.js";
import { StoreClosed, StoreDamaged } from "../../log/store-errors.js";
import type { Loop } from "../loop.js";
import { RejectionError, refuseDeleted, type Target } from "../outcome.js";
import type { Timers } from "../ports.js";
import { blobMarkPut } from "./blob-marks.js";
import { BlobSweeper } from "./blob-sweeper.js";

/** What blobs are kept in. */
export interface BlobsParts {
  readonly store: Store;
  readonly fence: Fence;
  readonly partition: number;
  readonly loop: Loop;
  readonly timers: Timers;
  /** Asked before content is stored for an aggregate that does not exist yet: why it must be refused now, or undefined. */
  readonly admit: () => Rejection | undefined;
  /** Resolves when all that the log's tail holds is in memory; sweeping begins then. */
  readonly ready: Promise<void>;
}

/** How often is swept, in ms. */
const sweepEveryMs = 3_600_000;

/** Bytes of content in one row. */
const chunkBytes = 1024 * 1024;

/**
 * Content above the inline bound, kept out of events in rows of its own. Its address is the run and the SHA-256 of the content, so what
 * belongs to a run is one range of keys. It is durable before any event names it; what no event comes to name is swept.
 */
export class Blobs {
  readonly #parts: BlobsParts;
  readonly #sweeper: BlobSweeper;

  constructor(parts: BlobsParts) {
    this.#parts = parts;
    const { store, fence, partition, loop } = parts;
    this.#sweeper = new BlobSweeper({
      ...{ store, fence, partition },
      now: () => loop.clock.now(),
      slicesInMemory: (runNumber) => loop.residency.resident(runNumber)?.slices ?? [],
    });
    parts.ready.then(() => this.#sweepAgain()).catch((error: unknown) => loop.fail(error));
  }

  /**
   * Stores the content of an encoded `pawl.v1.Payload` above the inline bound durably, and answers the payload that refers to it. A payload
   * within the bound is answered as it is. With `mayBegin` the run need not exist yet: it will have the number under which its content lies.
   * @throws RejectionError when there is no such run and it may not begin, or not while the disk is low; StoreFailed
   */
  async admit(
    target: Target,
    payload: Uint8Array,
    { mayBegin }: { readonly mayBegin: boolean },
  ): Promise<Uint8Array> {
    const decoded = decodePayload(payload);
    if (payload.length <= limits.inlineBytesMax || decoded.body.case !== "data") {
      return payload;
    }
    const content = decoded.body.value;
    const contentHash = sha256(content);
    const runNumber = await this.#numberOf(target, mayBegin);
    this.#sweeper.admitted(runNumber, contentHash);
    await this.#write(runNumber, contentHash, content);
    return encodePayload({
      ...decoded,
      body: { case: "blob", value: { sha256: contentHash, sizeBytes: BigInt(content.length) } },
    });
  }

  /**
   * The content, in chunks of at most 1 MiB.
   * @throws RejectionError PAWL_BLOB_NOT_FOUND; StoreDamaged when the content is not what its hash says.
   */
  async *read(
    runNumber: number,
    contentHash: Uint8Array,
  ): AsyncGenerator<Uint8Array, void, undefined> {
    const { store, partition } = this.#parts;
    const hash = createHash("sha256");
    let chunkNumber = 0;
    for (; ; chunkNumber++) {
      const key = blobKey.encode({ partition, runNumber, contentHash, chunkNumber });
      const value = store.get(key);
      if (value === undefined) {
        break;
      }
      const { payload } = readRow(key, value);
      hash.update(payload);
      yield payload;
    }
    if (chunkNumber === 0) {
      throw new RejectionError(notFound("blob", toHex(contentHash)));
    }
    if (!hash.digest().equals(contentHash)) {
      const key = blobKey.encode({ partition, runNumber, contentHash, chunkNumber: 0 });
      throw new StoreDamaged("Expected the content that its hash names, but it is another", {
        key: toHex(key),
      });
    }
  }

  /** Sweeps now and every hour, until the store is closed. */
  async #sweepAgain(): Promise<void> {
    const { timers, loop } = this.#parts;
    try {
      await this.#sweeper.sweep();
    } catch (error) {
      if (error instanceof StoreClosed) {
        return;
      }
      throw error;
    }
    timers.after(sweepEveryMs, () => {
      this.#sweepAgain().catch((error: unknown) => loop.fail(error));
    });
  }

  async #numberOf(target: Target, mayBegin: boolean): Promise<number> {
    for (;;) {
      const found = this.#parts.loop.find(target);
      if (!(found instanceof Promise)) {
        if (found?.run.deletion !== undefined) {
          throw new RejectionError(refuseDeleted(found.run));
        }
        return found?.number ?? this.#reserve(target, mayBegin);
      }
      await found;
    }
  }

  /** What begins nothing stores nothing: else anyone could fill a disk with content of runs that do not exist, or a low one with refused starts. */
  #reserve(target: Target, mayBegin: boolean): number {
    const { loop, admit } = this.#parts;
    const refusal = mayBegin ? (loop.buried(target) ?? admit()) : loop.absent(target);
    if (refusal !== undefined) {
      throw new RejectionError(refusal);
    }
    return loop.numbers.reserve(target);
  }

  async #write(runNumber: number, contentHash: Uint8Array, content: Uint8Array): Promise<void> {
    const { store, fence, partition, loop } = this.#parts;
    const puts: RowPut[] = [
      blobMarkPut(partition, { atMs: loop.clock.now(), runNumber, contentHash }),
    ];
    for (let chunkNumber = 0; chunkNumber * chunkBytes < content.length; chunkNumber++) {
      const key = blobKey.encode({ partition, runNumber, contentHash, chunkNumber });
      const start = chunkNumber * chunkBytes;
      const payload = content.subarray(start, start + chunkBytes);
      const row = { schemaVersion: 0, asOfEvent: 0, asOfSequence: 0, payload };
      puts.push({ key, value: writeRow(key, row) });
    }
    try {
      await store.putRows({ puts, deletes: [], ranges: [] }, fence);
    } catch (error) {
      loop.fail(error);
      throw error;
    }
  }
}
