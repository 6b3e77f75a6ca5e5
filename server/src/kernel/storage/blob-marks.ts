import { metaKey } from "../../log/key.js";
import type { KeyRange, RowPut } from "../../log/store.js";
import { writeMetaRow } from "./meta-rows.js";

/** When content was stored that an event is about to name. */
export interface BlobMark {
  readonly atMs: number;
  readonly runNumber: number;
  readonly contentHash: Uint8Array;
}

/**
 * Marks are meta rows with an empty payload: all is in the name, whose parts have fixed lengths, so that they lie in the order of time. They
 * let a sweep find the few blobs that may be named by nobody without looking at all the others.
 */
const marker = "blob";

/** The row that is written with the content. */
export function blobMarkPut(partition: number, mark: BlobMark): RowPut {
  return writeMetaRow(partition, nameOf(mark), new Uint8Array(0));
}

/** Keys of all marks that are older than a time. */
export function marksBefore(partition: number, atMs: number): KeyRange {
  const contentHash = new Uint8Array(32);
  const bound = (ms: number): Uint8Array =>
    metaKey.encode({ partition, name: nameOf({ atMs: ms, runNumber: 0, contentHash }) });
  return { gte: bound(0), lt: bound(Math.max(0, atMs)) };
}

/** What a mark's key says. */
export function readBlobMark(key: Uint8Array): BlobMark {
  const [, atMs = "", runNumber = "", contentHash = ""] = metaKey.decode(key).name.split(" ");
  return {
    atMs: Number.parseInt(atMs, 16),
    runNumber: Number.parseInt(runNumber, 16),
    contentHash: new Uint8Array(Buffer.from(contentHash, "hex")),
  };
}

function nameOf({ atMs, runNumber, contentHash }: BlobMark): string {
  const hash = Buffer.from(contentHash).toString("hex");
  return `${marker} ${hexOf(atMs)} ${hexOf(runNumber)} ${hash}`;
}

function hexOf(value: number): string {
  return value.toString(16).padStart(14, "0");
}
