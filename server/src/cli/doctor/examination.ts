import type { StoreInsight } from "../../kernel/storage/inspect-store.js";
import type { LastCheck } from "../../log/last-check.js";

/** What is in the way of even looking at a store. */
export interface Obstacle {
  readonly reason:
    | "absent"
    | "empty"
    | "unfinished"
    | "foreign"
    | "newer"
    | "damaged"
    | "unreadable";
  /** A sentence. */
  readonly message: string;
}

/** Who has the store open. */
export interface Holder {
  readonly pid: number;
  /** Where it says that it listens; absent for one that does not. */
  readonly url: string | undefined;
}

/** What the kernel that serves the store said, or why it said nothing. */
export type Asked =
  | { readonly isAnswered: false; readonly why: string }
  | {
      readonly isAnswered: true;
      readonly version: string;
      readonly storeId: string;
      readonly epoch: number;
      readonly readyAtMs: number;
      readonly isDiskLow: boolean;
      readonly readOnlyReason: string;
      readonly setAsideRuns: readonly number[];
      readonly scrubRounds: number;
      readonly lastRoundAtMs: number;
      /** Sentences; fewer than `findingCount` when this caller is not told all. */
      readonly findings: readonly string[];
      readonly findingCount: number;
    };

/** Where the log begins, and what the store takes up. */
export interface LogInsight {
  /** 0: nothing of it was trimmed. */
  readonly trimmedSequence: number;
  /** In hex; the chain is verified from there. */
  readonly anchorHash: string;
  readonly retentionBytes: number;
  readonly retentionMs: number;
  /** Of the files of the database. */
  readonly storeBytes: number;
}

/** All that was found out about a data folder. Nothing in it was judged yet. */
export interface Examination {
  /** As given. */
  readonly dir: string;
  /** As given. */
  readonly tokenFile: string | undefined;
  readonly obstacle: Obstacle | undefined;
  readonly format: number | undefined;
  readonly holder: Holder | undefined;
  readonly asked: Asked | undefined;
  /** What the store says of itself; only when nobody has it open. */
  readonly stored: StoreInsight | undefined;
  /** Undefined when nobody could tell. */
  readonly log?: LogInsight | undefined;
  readonly lastCheck: LastCheck | undefined;
  /** True when the last process to write ended in a failed write. */
  readonly hasFailedWrite: boolean;
  /** Undefined when the folder is absent. */
  readonly disk: { readonly freeBytes: number; readonly totalBytes: number } | undefined;
  readonly ballastBytes: number;
}
