import {
  decodeCheckpointSealed,
  encodeCheckpointSealed,
  type SealedChunkShape,
} from "@pawl/proto/log/v1/event_wire.js";
import { emptyLedger } from "../../core/apply.js";
import { equalBytes, toHex } from "../../log/bytes.js";
import type { EventSlice } from "../../log/segment.js";
import type { RowPut, Store } from "../../log/store.js";
import { decodeEvents } from "../decode-events.js";
import { nothingStored, Resident } from "../resident.js";
import { readMetaRow, writeMetaRow } from "./meta-rows.js";
import { slicesAfter } from "./replay.js";
import { chunkPointOfRow } from "./run-rows.js";
import { type RowSource, readRow } from "./stored-run.js";

/** Number of the pseudo run that holds the events of the store itself. Its chunks are never deleted. */
export const storeRunNumber: number = 0;

const unsealedRow = "unsealed";

/**
 * The chunks that were written and whose hashes are not yet in the chain. They stand in a row that is written with them, so that
 * a start knows what a crash has left unsealed.
 */
export class Unsealed {
  readonly #partition: number;
  /** Encoded, by batch; a list of messages one behind the other is one message with all their chunks. */
  #batches: { readonly encoded: Uint8Array; after: number }[] = [];

  constructor(partition: number) {
    this.#partition = partition;
  }

  /** Batches whose seals are not durable. */
  get batches(): number {
    return this.#batches.length;
  }

  /** Adds the chunks of a batch that is about to be written, and gives the row to be written along. */
  put(chunks: SealedChunkShape[]): RowPut {
    const encoded = encodeCheckpointSealed({ chunks });
    this.#batches.push({ encoded, after: Number.POSITIVE_INFINITY });
    const payload = Buffer.concat(this.#batches.map((batch) => batch.encoded));
    return writeMetaRow(this.#partition, unsealedRow, payload);
  }

  /** The seal of the last batch joins the log behind this sequence. */
  sealing(after: number): void {
    const last = this.#batches.at(-1);
    if (last !== undefined) {
      last.after = after;
    }
  }

  /** The log is durable up to a sequence: seals that stand in it are. */
  durable(sequence: number): void {
    this.#batches = this.#batches.filter(({ after }) => after >= sequence);
  }
}

/** Chunks of the last checkpoints that no event of the tail seals. @throws StoreDamaged */
export function findUnsealed(
  store: Pick<Store, "get">,
  partition: number,
  tail: readonly EventSlice[],
): SealedChunkShape[] {
  const payload = readMetaRow(store, partition, unsealedRow);
  if (payload === undefined) {
    return [];
  }
  const sealed = new Map<string, Uint8Array>();
  for (const slice of tail) {
    for (const { body } of decodeEvents(slice)) {
      for (const chunk of body.case === "checkpointSealed" ? body.value.chunks : []) {
        sealed.set(nameOf(chunk), chunk.hash);
      }
    }
  }
  return decodeCheckpointSealed(payload).chunks.filter((chunk) => {
    const hash = sealed.get(nameOf(chunk));
    return hash === undefined || !equalBytes(hash, chunk.hash);
  });
}

/** The pseudo run of the store, from its row and the tail. @throws StoreDamaged */
export function loadStoreRun(
  source: Pick<RowSource, "store" | "keys">,
  tail: readonly EventSlice[],
): Resident {
  const found = readRow(source, storeRunNumber);
  const stored =
    found === undefined
      ? nothingStored
      : {
          ...nothingStored,
          event: found.row.eventCount,
          chunks: chunkPointOfRow(found.row, found.row.eventCount + 1),
          bytes: found.bytes,
        };
  const slices = slicesAfter(tail, stored.event);
  const resident = new Resident(storeRunNumber, emptyLedger(), stored, slices);
  resident.run.eventCount = resident.recordedEvents;
  return resident;
}

function nameOf(chunk: SealedChunkShape): string {
  return `${chunk.run}/${chunk.chunk}`;
}

/** A chunk as messages name it. */
export function describeChunk(chunk: SealedChunkShape): string {
  return `chunk ${chunk.chunk} of run ${chunk.run} with hash ${toHex(chunk.hash)}`;
}
