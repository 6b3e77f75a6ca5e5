/**
 * What the kernel and its edge count as they go. All of it is cheap enough for every commit and every refusal; everything that can be
 * read from the state when someone asks is not counted but read (`KernelGauges`).
 */
export interface Meter {
  /** A turn is durable: its events, their bytes, and how long the store took to sync them. */
  committed(commit: {
    readonly seconds: number;
    readonly bytes: number;
    readonly events: number;
  }): void;
  /** The kernel refused a command. */
  rejected(rejection: Counted): void;
  /** A call was refused. What the kernel refused is not counted again. */
  refused(rejection: Counted): void;
}

/** A refusal, of which only the reason is counted: a stable code, `PAWL_…`. */
export interface Counted {
  readonly reason: string;
}

/** Counts nothing. */
export const noMeter: Meter = { committed: () => {}, rejected: () => {}, refused: () => {} };

/** A ready queue as metrics show it. */
export interface QueueGauge {
  readonly namespace: string;
  readonly queue: string;
  readonly kind: string;
  /** Tasks that wait for a worker. */
  readonly ready: number;
  /** Sessions that serve it. */
  readonly sessions: number;
}

/** State of a kernel at the moment when metrics are read. */
export interface KernelGauges {
  readonly openRuns: number | undefined;
  readonly residentRuns: number;
  readonly leases: number;
  readonly sessions: number;
  readonly watchers: number;
  readonly waiters: number;
  readonly deadlines: number;
  /** How late the earliest lease end or deadline is that was not acted upon yet; 0 when none is. */
  readonly overdueMs: number;
  readonly postponedStarts: number;
  /** What runs owe each other and cannot be delivered yet. */
  readonly heldUpObligations: number;
  readonly liveOutputBytes: number;
  /** Bytes of commands that wait for their runs to be read. */
  readonly parkedBytes: number;
  readonly faults: number;
  readonly headSequence: number;
  readonly horizonSequence: number;
  readonly unsavedBytes: number;
  /** Where the log begins. */
  readonly trimmedSequence: number;
  /** Bytes of segments that are kept. */
  readonly logBytes: number;
  /** How often room was given back to the disk. */
  readonly compactions: number;
  /** Removed bytes that wait for it. */
  readonly compactWaitingBytes: number;
  readonly isDiskLow: boolean;
  readonly isReadOnly: boolean;
  readonly isOpenWorkKnown: boolean;
  /** All queues, in no particular order. */
  readonly queues: () => Iterable<QueueGauge>;
  /** Tasks that wait to be tried again, of runs in memory. Counted when asked. */
  readonly backoffs: () => number;
}

/** State of the edge at the moment when metrics are read. */
export interface EdgeGauges {
  /** Streams that are open, by method. */
  readonly streams: ReadonlyMap<string, number>;
  /** Other calls that are open. */
  readonly calls: number;
  readonly connections: number;
}
