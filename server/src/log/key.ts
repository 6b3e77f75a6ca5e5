/**
 * All keys of the store. A key is 1 byte kind, 2 bytes partition, then its fields in the order below:
 * numbers big-endian in a fixed width, every string as 2 bytes length and UTF-8, so that byte order is number
 * order and no key is the beginning of a neighbour's. A kind is never used for anything else, also after it
 * is gone.
 *
 * | kind | name | fields after the partition | value |
 * |---|---|---|---|
 * | 00 | meta | name | row |
 * | 01 | segment | sequence u64 | segment |
 * | 10 | run | runNumber u64 | row |
 * | 11 | task | runNumber u64, number u32 | row |
 * | 12 | operation | runNumber u64, number u32 | row |
 * | 13 | step | runNumber u64, number u32 | row |
 * | 14 | proposal | runNumber u64, number u32 | row |
 * | 15 | input request | runNumber u64, number u32 | row |
 * | 16 | signal | runNumber u64, number u32 | row |
 * | 17 | review (reserved) | runNumber u64, number u32 | row |
 * | 18 | history chunk | runNumber u64, chunkNumber u32 | chunk |
 * | 19 | wait | runNumber u64, number u32 | row |
 * | 1a | obligation | runNumber u64, number u32 | row |
 * | 1b | plan version | runNumber u64, number u32 | row |
 * | 20 | name | namespace, runId | row |
 * | 21 | visibility | namespace, field, value, runNumber u64, number u32 | empty |
 * | 22 | timer | dueMs u64, runNumber u64 | row or empty |
 * | 23 | ready | namespace, queue, priority u8, sequence u64, runNumber u64, number u32 | row or empty |
 * | 24 | lease | runNumber u64, number u32 | row or empty |
 * | 25 | owed | runNumber u64, number u32 | row or empty |
 * | 26 | operation key | namespace, keyHash 32 bytes | row |
 * | 30 | blob chunk | runNumber u64, contentHash 32 bytes, chunkNumber u32 | row |
 * | 31 | tombstone | namespace, runIdHash 32 bytes | row |
 * | 32 | sweep | runNumber u64 | row |
 */

import { type InPartition, type KeyCodec, keyCodec, rangeOfPrefix } from "./key-codec.js";
import { sha256Field, text, u8, u32, u64 } from "./key-field.js";
import type { KeyRange } from "./store.js";

export {
  type InPartition,
  type KeyCodec,
  keyAfter,
  keyBefore,
  rangeOfPrefix,
} from "./key-codec.js";

/** What the value under a key of one kind looks like. */
export type ValueForm = "segment" | "chunk" | "row" | "row-or-empty" | "empty";

/** The name and value form of every kind, by its number. */
export interface KindInfo {
  readonly kind: number;
  readonly name: string;
  /** Throws `StoreDamaged` unless the bytes are a key of this kind. */
  readonly decode: (bytes: Uint8Array) => InPartition;
  readonly form: ValueForm;
  /** True if `runNumber` is the first field, so that a run's keys of this kind are one range. */
  readonly perRun: boolean;
}

/** A run's own row, and the prefix of all that belongs to it. */
export interface RunKey extends InPartition {
  readonly runNumber: number;
}

/** Something numbered inside a run: a task, operation, step, lease, … */
export interface InRunKey extends RunKey {
  readonly number: number;
}

/** A segment, by the sequence of its first event. */
export interface SegmentKey extends InPartition {
  readonly sequence: number;
}

/** One piece of a run's history, counted from 0. */
export interface ChunkKey extends RunKey {
  readonly chunkNumber: number;
}

/** A run id in its namespace. */
export interface NameKey extends InPartition {
  readonly namespace: string;
  readonly runId: string;
}

/** One value of one field by which runs (number 0) or their parts are listed. */
export interface VisibilityKey extends InPartition {
  readonly namespace: string;
  readonly field: string;
  readonly value: string;
  readonly runNumber: number;
  readonly number: number;
}

/** The earliest deadline of a run, in ms of kernel time. */
export interface TimerKey extends InPartition {
  readonly dueMs: number;
  readonly runNumber: number;
}

/** A claimable task. Within a queue the lowest priority number comes first, then the lowest sequence. */
export interface ReadyKey extends InPartition {
  readonly namespace: string;
  readonly queue: string;
  readonly priority: number;
  readonly sequence: number;
  readonly runNumber: number;
  readonly number: number;
}

/** An operation by the SHA-256 of its full operation key. */
export interface OperationKeyKey extends InPartition {
  readonly namespace: string;
  readonly keyHash: Uint8Array;
}

/** A piece of content above the inline bound, counted from 0. */
export interface BlobKey extends InPartition {
  readonly runNumber: number;
  readonly contentHash: Uint8Array;
  readonly chunkNumber: number;
}

/** What remains of a deleted run, by the SHA-256 of its id. */
export interface TombstoneKey extends InPartition {
  readonly namespace: string;
  readonly runIdHash: Uint8Array;
}

/** A row of the store itself. */
export interface MetaKey extends InPartition {
  readonly name: string;
}

const inRun = { runNumber: u64, number: u32 };

/** Rows of the store itself. */
export const metaKey: KeyCodec<MetaKey> = keyCodec(0x00, { name: text });
/** The log: one commit, under its first sequence. */
export const segmentKey: KeyCodec<SegmentKey> = keyCodec(0x01, { sequence: u64 });
/** State of a run; all of it when it is short. */
export const runKey: KeyCodec<RunKey> = keyCodec(0x10, { runNumber: u64 });
/** State of a task of a long run. */
export const taskKey: KeyCodec<InRunKey> = keyCodec(0x11, inRun);
/** State of an operation of a long run. */
export const operationKey: KeyCodec<InRunKey> = keyCodec(0x12, inRun);
/** A recorded step of a long run. */
export const stepKey: KeyCodec<InRunKey> = keyCodec(0x13, inRun);
/** A proposal of a long run. */
export const proposalKey: KeyCodec<InRunKey> = keyCodec(0x14, inRun);
/** An input request of a long run. */
export const inputRequestKey: KeyCodec<InRunKey> = keyCodec(0x15, inRun);
/** A signal of a long run. */
export const signalKey: KeyCodec<InRunKey> = keyCodec(0x16, inRun);
/** A review of a long run. */
export const reviewKey: KeyCodec<InRunKey> = keyCodec(0x17, inRun);
/** A chunk of a run's own history. */
export const chunkKey: KeyCodec<ChunkKey> = keyCodec(0x18, { runNumber: u64, chunkNumber: u32 });
/** Something that a task of a long run waits for, or waited for. */
export const waitKey: KeyCodec<InRunKey> = keyCodec(0x19, inRun);
/** What a long run owes another, or owed it. */
export const obligationKey: KeyCodec<InRunKey> = keyCodec(0x1a, inRun);
/** A version of the plan of a long run that was revised. */
export const planVersionKey: KeyCodec<InRunKey> = keyCodec(0x1b, inRun);
/** From a run's id to its number. */
export const nameKey: KeyCodec<NameKey> = keyCodec(0x20, { namespace: text, runId: text });
/** From a field's value to the runs that have it, for lists. */
export const visibilityKey: KeyCodec<VisibilityKey> = keyCodec(0x21, {
  namespace: text,
  field: text,
  value: text,
  ...inRun,
});
/** The earliest deadline of a run. */
export const timerKey: KeyCodec<TimerKey> = keyCodec(0x22, { dueMs: u64, runNumber: u64 });
/** A task that may be claimed. */
export const readyKey: KeyCodec<ReadyKey> = keyCodec(0x23, {
  namespace: text,
  queue: text,
  priority: u8,
  sequence: u64,
  ...inRun,
});
/** An open lease. */
export const leaseKey: KeyCodec<InRunKey> = keyCodec(0x24, inRun);
/** An obligation that its receiver has not answered yet. */
export const owedKey: KeyCodec<InRunKey> = keyCodec(0x25, inRun);
/** From an operation key, hashed, to the run that holds it. */
export const operationKeyKey: KeyCodec<OperationKeyKey> = keyCodec(0x26, {
  namespace: text,
  keyHash: sha256Field,
});
/** A chunk of content kept out of line. */
export const blobKey: KeyCodec<BlobKey> = keyCodec(0x30, {
  runNumber: u64,
  contentHash: sha256Field,
  chunkNumber: u32,
});
/** What remains of a deleted run, or operation of scope NAMESPACE. */
export const tombstoneKey: KeyCodec<TombstoneKey> = keyCodec(0x31, {
  namespace: text,
  runIdHash: sha256Field,
});

/** A deleted run of which rows may be left. */
export const sweepKey: KeyCodec<RunKey> = keyCodec(0x32, { runNumber: u64 });

/** Every kind there is, in key order. The table above in a form that code can walk. */
export const KINDS: readonly KindInfo[] = [
  kindInfo("meta", metaKey, "row", false),
  kindInfo("segment", segmentKey, "segment", false),
  kindInfo("run", runKey, "row", true),
  kindInfo("task", taskKey, "row", true),
  kindInfo("operation", operationKey, "row", true),
  kindInfo("step", stepKey, "row", true),
  kindInfo("proposal", proposalKey, "row", true),
  kindInfo("input request", inputRequestKey, "row", true),
  kindInfo("signal", signalKey, "row", true),
  kindInfo("review", reviewKey, "row", true),
  kindInfo("history chunk", chunkKey, "chunk", true),
  kindInfo("wait", waitKey, "row", true),
  kindInfo("obligation", obligationKey, "row", true),
  kindInfo("plan version", planVersionKey, "row", true),
  kindInfo("name", nameKey, "row", false),
  kindInfo("visibility", visibilityKey, "empty", false),
  kindInfo("timer", timerKey, "row-or-empty", false),
  kindInfo("ready", readyKey, "row-or-empty", false),
  kindInfo("lease", leaseKey, "row-or-empty", true),
  kindInfo("owed", owedKey, "row-or-empty", true),
  kindInfo("operation key", operationKeyKey, "row", false),
  kindInfo("blob chunk", blobKey, "row", true),
  kindInfo("tombstone", tombstoneKey, "row", false),
  kindInfo("sweep", sweepKey, "row", false),
];

/** All keys of one partition, of whatever kind. One range per kind, since the kind comes first. */
export function rangeOfKind(kind: number, partition: number): KeyRange {
  return rangeOfPrefix(Uint8Array.of(kind, partition >>> 8, partition & 0xff));
}

/** All keys of one run, for a kind whose first field is the run's number (`KindInfo.perRun`). */
export function rangeOfRun(kind: number, run: RunKey): KeyRange {
  const prefix = runKey.encode(run);
  prefix[0] = kind;
  return rangeOfPrefix(prefix);
}

function kindInfo<K extends InPartition>(
  name: string,
  codec: KeyCodec<K>,
  form: ValueForm,
  perRun: boolean,
): KindInfo {
  return { kind: codec.kind, name, decode: (bytes) => codec.decode(bytes), form, perRun };
}
