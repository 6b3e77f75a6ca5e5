import { readU64 } from "../../log/bytes.js";
import { readMeta } from "../../log/meta.js";
import type { Store } from "../../log/store.js";
import { damageIn, type StoreDamaged, StoreError } from "../../log/store-errors.js";
import { type VerifyProblem, type VerifyReport, verifyLog } from "../../log/verify-log.js";
import type { Cancellable, Timers } from "../ports.js";

/** How a scrubber goes about it. */
export interface ScrubOptions {
  /** Bytes read in a second, at most. Default 4 MiB. */
  readonly bytesPerSecond?: number;
  /** When the first round begins, ms after the start. Default 1 min. */
  readonly firstAfterMs?: number;
  /** Rest between two rounds, in ms. Default 24 h. */
  readonly restMs?: number;
  /** At more events a second than this the kernel is busy, and next to nothing is read. Default 500. */
  readonly busyEventsPerSecond?: number;
}

/** Something stored that is not as it was written. */
export interface ScrubFinding {
  /** What was checked: `log`, `history` or `rows`. */
  readonly stage: string;
  readonly message: string;
  /** The run that it belongs to and that is refused for it; 0: none. */
  readonly runNumber: number;
  /** 0 when it is not known. */
  readonly firstBadSequence: number;
  /** In hex; empty when it is not known. */
  readonly key: string;
  /** Kernel time. */
  readonly foundAtMs: number;
}

/** How far it is. */
export interface ScrubStatus {
  /** Rounds that came to their end in this process. */
  readonly rounds: number;
  /** Kernel time at which the last of them ended; 0: none has. */
  readonly lastRoundAtMs: number;
  /** Bytes checked in this process. */
  readonly bytes: number;
  /** What was found in this process, the oldest first, at most 100. */
  readonly findings: readonly ScrubFinding[];
}

/** What it needs. */
export interface ScrubberParts {
  readonly store: Store;
  readonly partition: number;
  readonly timers: Timers;
  /** Kernel time. */
  readonly now: () => number;
  readonly durableSequence: () => number;
  /** True for a run whose rows are being removed, or were, in this process. */
  readonly isGone?: (runNumber: number) => boolean;
  /** Told of each finding, once. */
  readonly found: (finding: ScrubFinding, error: StoreDamaged) => void;
  readonly options?: ScrubOptions;
}

const findingsMax = 100;
/** One page is at most some 4 MiB, usually far less: it is hashed in one go, and the loop stands still for that long. */
const page = { pageContainers: 4, pageRows: 64 } as const;
/** Rest after each page, at least: the loop handles all that has come before the next one. */
const pageRestMs = 20;
/** Rest between two pages while the kernel is busy: a store that is always busy is scrubbed all the same, in time. */
const busyRestMs = 5_000;

/** Kinds of keys that hold one run's state and history; the run's number follows the partition. */
const runKinds = { first: 0x10, last: 0x19 } as const;

/**
 * Reads all that is stored, slowly and again and again, beside the kernel's work: links and hashes of segments and chunks, seals, checksums
 * of rows. What is not as it was written is named, and never repaired. It reads a page, rests for as long as the bound of bytes a second asks,
 * and all but stops while the kernel is busy.
 */
export class Scrubber {
  readonly #parts: ScrubberParts;
  readonly #options: Required<ScrubOptions>;
  readonly #findings: ScrubFinding[] = [];
  /** Findings by their places: each is told once, however often it is met. */
  readonly #known = new Set<string>();
  readonly #listeners: (() => void)[] = [];
  #rounds = 0;
  #lastRoundAtMs = 0;
  #bytes = 0;
  #rest: { readonly timer: Cancellable; readonly wake: () => void } | undefined;
  #isClosed = false;
  #running: Promise<void> = Promise.resolve();
  #lastLook = { sequence: 0, atMs: 0 };

  constructor(parts: ScrubberParts) {
    this.#parts = parts;
    this.#options = {
      bytesPerSecond: 4 * 1024 * 1024,
      firstAfterMs: 60_000,
      restMs: 24 * 3_600_000,
      busyEventsPerSecond: 500,
      ...parts.options,
    };
  }

  /** How far it is, and what it found. */
  get status(): ScrubStatus {
    return {
      rounds: this.#rounds,
      lastRoundAtMs: this.#lastRoundAtMs,
      bytes: this.#bytes,
      findings: this.#findings,
    };
  }

  /** Calls back after each finding, and after each round. */
  onNews(callback: () => void): void {
    this.#listeners.push(callback);
  }

  /** Begins, once. */
  start(): void {
    this.#running = this.#run();
  }

  /** Ends it; resolves when nothing is being read any more. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#rest?.timer.cancel();
    this.#rest?.wake();
    await this.#running;
  }

  async #run(): Promise<void> {
    await this.#wait(this.#options.firstAfterMs);
    while (!this.#isClosed) {
      try {
        await this.#round();
      } catch (error) {
        const damage = damageIn(error);
        if (damage === undefined && error instanceof StoreError) {
          return; // The store is closed, or has failed, which ends the kernel by itself.
        }
        if (damage === undefined) {
          throw error;
        }
        this.#keep("files", damage);
      }
      await this.#wait(this.#options.restMs);
    }
  }

  async #round(): Promise<void> {
    const { store, partition, durableSequence } = this.#parts;
    const through = durableSequence();
    const meta = readMeta(store, partition);
    const reports = verifyLog(store, { partition, meta, through, ...page });
    let bytes = 0;
    while (!this.#isClosed) {
      const { value: report, done } = await reports.next();
      if (done === true || report.kind === "done") {
        this.#rounds++;
        this.#lastRoundAtMs = this.#parts.now();
        this.#tellNews();
        return;
      }
      if (report.kind === "problem") {
        this.#judge(report);
        continue;
      }
      const read = bytesOf(report) - bytes;
      bytes += read;
      this.#bytes += read;
      await this.#pace(read);
    }
  }

  /** A part of the log that was cut off meanwhile is no damage, and neither is what is missing of a deleted run. */
  #judge({ stage, firstBadSequence, damage }: VerifyProblem): void {
    const { store, partition } = this.#parts;
    const isTrimmed =
      stage === "log" &&
      firstBadSequence !== undefined &&
      firstBadSequence <= readMeta(store, partition).anchor.sequence;
    const isGone =
      damage !== undefined && this.#parts.isGone?.(runOfKey(damage.key ?? "")) === true;
    if (!isTrimmed && !isGone && damage !== undefined) {
      this.#keep(stage, damage);
    }
  }

  #keep(stage: string, error: StoreDamaged): void {
    const { firstBadSequence = 0, key = "" } = error;
    const name = `${stage} ${firstBadSequence} ${key}`;
    if (this.#known.has(name) || this.#findings.length >= findingsMax) {
      return;
    }
    this.#known.add(name);
    const finding: ScrubFinding = {
      ...{ stage, firstBadSequence, key },
      message: error.message,
      runNumber: runOfKey(key),
      foundAtMs: this.#parts.now(),
    };
    this.#findings.push(finding);
    this.#parts.found(finding, error);
    this.#tellNews();
  }

  #tellNews(): void {
    for (const listener of this.#listeners) {
      listener();
    }
  }

  async #pace(bytes: number): Promise<void> {
    const owedMs = (bytes * 1000) / this.#options.bytesPerSecond;
    await this.#wait(Math.max(pageRestMs, Math.ceil(owedMs)));
    if (this.#isBusy()) {
      await this.#wait(busyRestMs);
    }
  }

  #isBusy(): boolean {
    const now = { sequence: this.#parts.durableSequence(), atMs: this.#parts.now() };
    const { sequence, atMs } = this.#lastLook;
    this.#lastLook = now;
    const seconds = Math.max(1, now.atMs - atMs) / 1000;
    return (now.sequence - sequence) / seconds > this.#options.busyEventsPerSecond;
  }

  #wait(ms: number): Promise<void> {
    if (this.#isClosed) {
      return Promise.resolve();
    }
    return new Promise((resolve) => {
      const timer = this.#parts.timers.after(ms, resolve);
      this.#rest = { timer, wake: resolve };
    });
  }
}

function bytesOf(report: Extract<VerifyReport, { kind: "progress" }>): number {
  return report.counts.bytes;
}

/** Number of the run whose state or history lies under a key; 0 for other rows. */
function runOfKey(hex: string): number {
  const key = Buffer.from(hex, "hex");
  const [kind = 0] = key;
  const isOfRun = kind >= runKinds.first && kind <= runKinds.last && key.length >= 11;
  return isOfRun ? readU64(key, 3) : 0;
}
