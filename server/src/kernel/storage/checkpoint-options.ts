import { getHeapStatistics } from "node:v8";
import { type LogRetention, logRetentionDefault } from "./log-retention.js";

const kib = 1024;
const mib = 1024 * kib;

/** Bounds of the checkpointer; every one has a default. */
export interface CheckpointOptions {
  /** Bytes of events that may be unsaved; from twice as many on new starts wait. Default 3 MiB: a start after a crash reads that much again. */
  readonly lagBytes?: number;
  /** Unsaved bytes from which on rows are written without waiting for age. Default 2 MiB: a start reads that much again before all is known. */
  readonly beginBytes?: number;
  /** Age of the oldest unsaved change at which rows are written, in ms. Default 1,000. */
  readonly beginAgeMs?: number;
  /** Runs kept in memory. Default 50,000. */
  readonly residentsMax?: number;
  /** Estimated bytes of the runs kept in memory. Default 512 MiB, or half of the process's heap if that is less. */
  readonly residentBytesMax?: number;
  /** Segments behind the horizon that are kept, in bytes. Default: what the store keeps as its setting. */
  readonly logRetentionBytes?: number;
  /** How long segments behind the horizon are kept at most, in ms. Default: what the store keeps as its setting. */
  readonly logRetentionMs?: number;
}

/** All bounds, filled in. */
export type ResolvedOptions = Required<CheckpointOptions>;

const defaults: ResolvedOptions = {
  lagBytes: 3 * mib,
  beginBytes: 2 * mib,
  beginAgeMs: 1000,
  residentsMax: 50_000,
  residentBytesMax: Math.min(512 * mib, getHeapStatistics().heap_size_limit / 2),
  logRetentionBytes: logRetentionDefault.bytes,
  logRetentionMs: logRetentionDefault.ms,
};

/** Fills in the defaults. @param kept the store's own setting. */
export function resolveOptions(
  options: CheckpointOptions = {},
  kept: LogRetention = logRetentionDefault,
): ResolvedOptions {
  return { ...defaults, logRetentionBytes: kept.bytes, logRetentionMs: kept.ms, ...options };
}

const batchBytesMin = 256 * kib;
const batchBytesMax = mib;

/**
 * Bytes of one batch: 256 KiB while little is unsaved, growing to 1 MiB at half the lag bound. Small batches keep commits short while
 * there is time; large ones are the only way to catch up, since each costs a sync.
 */
export function batchBytes(unsavedBytes: number, lagBytes: number): number {
  const share = Math.min(1, unsavedBytes / (lagBytes / 2));
  return batchBytesMin + (batchBytesMax - batchBytesMin) * share;
}
