import { readLastSegment } from "../../log/log-reader.js";
import type { Resident } from "../resident.js";
import { ChunkCursor } from "./chunk-cursor.js";
import type { HistoryReaderParts } from "./history-reader.js";

/** Where the log holds an event. */
export interface EventProof {
  readonly sequence: number;
  readonly holder:
    | { readonly case: "segment"; readonly lastSequence: number; readonly hash: Uint8Array }
    | { readonly case: "chunk"; readonly number: number; readonly hash: Uint8Array };
}

/**
 * Finds what holds each event: its chunk, and as long as it is in none its segment. One read of the store for each segment or chunk.
 *
 * @param load gives the run, as it is stored by then: a checkpoint moves events while segments are read.
 */
export async function readProofs(
  parts: Pick<HistoryReaderParts, "store" | "partition" | "runs">,
  load: () => Promise<Resident | undefined>,
  events: readonly number[],
): Promise<ReadonlyMap<number, EventProof>> {
  const proofs = new Map<number, EventProof>();
  let left = [...new Set(events)].sort((one, other) => one - other);
  // What was in a segment at the first look and is not found there is in a chunk by the second.
  for (let looks = 0; looks < 2 && left.length > 0; looks++) {
    const resident = await load();
    if (resident === undefined) {
      break;
    }
    addChunks(proofs, parts, resident, left);
    await addSegments(proofs, parts, resident, left);
    left = left.filter((event) => !proofs.has(event));
  }
  return proofs;
}

function addChunks(
  proofs: Map<number, EventProof>,
  { runs }: Pick<HistoryReaderParts, "runs">,
  { number: run, stored }: Resident,
  events: readonly number[],
): void {
  const { nextEventNumber, nextChunkNumber } = stored.chunks;
  const cursor = new ChunkCursor(runs, run);
  for (const event of events) {
    if (event > 0 && event < nextEventNumber) {
      const chunk = cursor.chunkWith(event, nextChunkNumber);
      for (const { firstEventNumber, firstSequence, count } of chunk.slices()) {
        if (firstEventNumber <= event && event < firstEventNumber + count) {
          proofs.set(event, {
            sequence: firstSequence + event - firstEventNumber,
            holder: { case: "chunk", number: chunk.chunkNumber, hash: chunk.hash.slice() },
          });
        }
      }
    }
  }
}

async function addSegments(
  proofs: Map<number, EventProof>,
  { store, partition }: Pick<HistoryReaderParts, "store" | "partition">,
  { slices }: Resident,
  events: readonly number[],
): Promise<void> {
  const wanted = events.flatMap((event) => {
    const slice = slices.find(
      ({ firstEventNumber, count }) =>
        firstEventNumber <= event && event < firstEventNumber + count,
    );
    return slice === undefined
      ? []
      : [{ event, sequence: slice.firstSequence + event - slice.firstEventNumber }];
  });
  let segment: Awaited<ReturnType<typeof readLastSegment>>;
  for (const { event, sequence } of wanted) {
    if (segment === undefined || segment.lastSequence < sequence) {
      segment = await readLastSegment(store, partition, sequence);
    }
    if (segment !== undefined && segment.lastSequence >= sequence) {
      const { lastSequence, hash } = segment;
      proofs.set(event, {
        sequence,
        holder: { case: "segment", lastSequence, hash: hash.slice() },
      });
    }
  }
}
