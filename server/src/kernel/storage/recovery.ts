import type { SealedChunkShape } from "@pawl/proto/log/v1/event_wire.js";
import { eventsOf } from "../../log/event-frames.js";
import { blobKey, rangeOfKind } from "../../log/key.js";
import { readLastSegment, readLog, verifyHorizon } from "../../log/log-reader.js";
import { readMeta, type StoreMeta } from "../../log/meta.js";
import { type ChainPoint, chainPointOf, type EventSlice, type Segment } from "../../log/segment.js";
import type { Store } from "../../log/store.js";
import { CredentialPolicies } from "../credential-policies.js";
import { CurrentVersions } from "../current-versions.js";
import { Namespaces } from "../namespaces.js";
import type { Resident } from "../resident.js";
import { Retentions } from "../retentions.js";
import { Starts } from "../starts.js";
import { hasTombstones } from "../tombstones.js";
import { wasClosedAt } from "./closed-row.js";
import { type EpochMark, findBegunEpoch } from "./epochs.js";
import { decodeBody, peekEvent } from "./event-peek.js";
import { KeyMaker } from "./key-maker.js";
import { findUnsealed, loadStoreRun, storeRunNumber } from "./seals.js";
import { Tail } from "./tail.js";

/** Name of the counter that holds the number of the next run. */
export const nextRunCounter: string = "next run";

/** What a start finds in the store before anything is served. */
export interface Recovery {
  readonly partition: number;
  readonly meta: StoreMeta;
  /** The end of the log. */
  readonly head: ChainPoint;
  /** Kernel time of the last event, in ms since the Unix epoch; 0 for an empty log. */
  readonly lastRecordedMs: number;
  /** Number for the next run. */
  readonly nextRunNumber: number;
  /** What lies beyond the horizon. */
  readonly tail: Tail;
  /** The pseudo run of the store's own events. */
  readonly storeRun: Resident;
  readonly namespaces: Namespaces;
  readonly versions: CurrentVersions;
  readonly credentialPolicies: CredentialPolicies;
  readonly retentions: Retentions;
  /** True when something was deleted whose tombstone may be in the store. */
  readonly areTombstones: boolean;
  /** Starts of kernels before this one. */
  readonly starts: Starts;
  /** True when the last kernel closed the store, and nothing came behind that. */
  readonly wasClosed: boolean;
  /** Events beyond the horizon. */
  readonly tailEvents: number;
  /** Chunks that were written by an earlier process and are not sealed yet. */
  readonly unsealed: readonly SealedChunkShape[];
  /** The last epoch that the tail says has begun; its rows may be missing, when a kill came between. */
  readonly begunEpoch: EpochMark | undefined;
  /** Ends of the segments beyond the horizon, in order. */
  readonly borders: readonly ChainPoint[];
  /** Bytes of the events beyond the horizon. */
  readonly tailBytes: number;
}

/**
 * Reads what a start must know: the horizon, and the log beyond it, every link of which is verified. Nothing is applied yet.
 * @throws StoreDamaged naming the first bad sequence, also when the log ends before the horizon.
 */
export async function recover(store: Store, partition: number = 0): Promise<Recovery> {
  const meta = readMeta(store, partition);
  await verifyHorizon(store, partition, meta);
  const scan = new TailScan();
  for await (const segment of readLog(store, { partition, after: meta.horizon })) {
    scan.add(segment);
  }
  const storeSlices = scan.tail.take(storeRunNumber);
  return {
    partition,
    meta,
    storeRun: loadStoreRun({ store, keys: new KeyMaker(partition) }, storeSlices),
    namespaces: Namespaces.read(
      store,
      { partition, createdAtMs: meta.identity.createdAtMs },
      storeSlices,
    ),
    versions: CurrentVersions.read(store, partition, storeSlices),
    credentialPolicies: CredentialPolicies.read(store, partition, storeSlices),
    retentions: Retentions.read(store, partition, storeSlices),
    areTombstones: await hasTombstones(store, partition),
    starts: Starts.read(store, partition, storeSlices),
    wasClosed: wasClosedAt(store, partition, scan.borders.at(-1) ?? meta.horizon),
    tailEvents: scan.events,
    unsealed: findUnsealed(store, partition, storeSlices),
    begunEpoch: findBegunEpoch(storeSlices),
    head: scan.borders.at(-1) ?? meta.horizon,
    lastRecordedMs:
      scan.borders.length > 0 ? scan.lastRecordedMs : await lastTimeOf(store, partition),
    nextRunNumber: Math.max(
      meta.counters[nextRunCounter] ?? 1,
      scan.lastRunNumber + 1,
      (await lastBlobRun(store, partition)) + 1,
    ),
    tail: scan.tail,
    borders: scan.borders,
    tailBytes: scan.bytes,
  };
}

class TailScan {
  readonly tail = new Tail();
  readonly borders: ChainPoint[] = [];
  bytes = 0;
  events = 0;
  lastRecordedMs = 0;
  lastRunNumber = 0;

  add(segment: Segment): void {
    for (const slice of segment.slices()) {
      this.tail.add(slice);
      this.bytes += slice.bytes.byteLength;
      this.events += slice.count;
      this.lastRunNumber = Math.max(this.lastRunNumber, slice.runNumber);
      this.#look(slice.runNumber, slice);
    }
    this.borders.push(chainPointOf(segment));
  }

  /** Keeps the names that are given in the tail, and the time of its last event. */
  #look(runNumber: number, slice: EventSlice): void {
    for (const { bytes } of eventsOf(slice)) {
      const { deltaMs, naming } = peekEvent(bytes);
      this.lastRecordedMs = Math.max(this.lastRecordedMs, slice.timeBaseMs + deltaMs);
      const body = naming === undefined ? undefined : decodeBody(bytes);
      if (body?.case === "runStarted") {
        this.tail.addName(body.value.namespace, body.value.runId, runNumber);
      } else if (
        (body?.case === "operationIntended" || body?.case === "proposalMade") &&
        body.value.declaration !== undefined
      ) {
        this.tail.addOperation(body.value.declaration.key, runNumber);
      }
    }
  }
}

/** Highest number that content was stored for, whether its run came or not. */
async function lastBlobRun(store: Store, partition: number): Promise<number> {
  const range = rangeOfKind(blobKey.kind, partition);
  const [last] = await store.read({ ...range, reverse: true, limit: 1 });
  return last === undefined ? 0 : blobKey.decode(last.key).runNumber;
}

/** Time of the last event of a log that ends at the horizon. */
async function lastTimeOf(store: Store, partition: number): Promise<number> {
  const last = await readLastSegment(store, partition);
  let lastMs = 0;
  for (const slice of last?.slices() ?? []) {
    for (const { bytes } of eventsOf(slice)) {
      lastMs = Math.max(lastMs, slice.timeBaseMs + peekEvent(bytes).deltaMs);
    }
  }
  return lastMs;
}
