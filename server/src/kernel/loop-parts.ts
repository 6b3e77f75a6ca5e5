import type { Rejection } from "../core/rejection.js";
import type { Retention } from "../core/retention.js";
import type { Meter } from "../observe/meter.js";
import type { Committer } from "./committer.js";
import type { KernelClock } from "./kernel-clock.js";
import type { PlanCache } from "./plan-cache.js";
import type { Clock, Random, Timers } from "./ports.js";
import type { PositionCodec } from "./position.js";
import type { Residency } from "./residency.js";
import type { Resident } from "./resident.js";
import type { Tombstones } from "./tombstones.js";
import type { Turn } from "./turn.js";

/** What the loop is built from. */
export interface LoopParts {
  readonly clock: KernelClock;
  /** Counts what happens; the clock measures syncs. */
  readonly observe: { readonly clock: Clock; readonly meter: Meter };
  readonly timers: Timers;
  readonly random: Random;
  readonly residency: Residency;
  readonly committer: Committer;
  readonly positions: PositionCodec;
  readonly plans: PlanCache;
  /** Number for the next aggregate. */
  readonly nextRunNumber: number;
  /** Asked before a new aggregate is made: why it must be refused now, or undefined. */
  readonly admit: () => Rejection | undefined;
  /** The version of a workflow's code that is current, also while it becomes durable; 0: none is. */
  readonly currentVersion: (namespace: string, workflow: string) => number;
  /** What is left of deleted runs. */
  readonly tombstones: Tombstones;
  /** How long a namespace keeps what, also while it becomes durable. */
  readonly retentionOf: (namespace: string) => Retention;
  /** True while new aggregates must wait because the checkpointer lags too far behind. */
  readonly isLagging: () => boolean;
}

/** What the loop tells those around it. */
export interface LoopListener {
  /** Runs have new slices: the checkpointer has work. Called when the segment was handed over, before it is durable. */
  unsaved(residents: readonly Resident[], bytes: number): void;
  /** A turn is durable. */
  durable(turn: Turn): void;
  /** The store failed. Nothing more is acknowledged. */
  failed(error: Error): void;
}
