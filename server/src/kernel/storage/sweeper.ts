import { blobKey, chunkKey, KINDS, rangeOfKind, rangeOfRun, sweepKey } from "../../log/key.js";
import { keyAfter } from "../../log/key-codec.js";
import type { Fence, KeyRange, Store } from "../../log/store.js";
import { damageIn, StoreError } from "../../log/store-errors.js";
import { DurableAnswers } from "../durable-answers.js";
import type { Loop } from "../loop.js";
import type { Timers } from "../ports.js";
import type { Resident } from "../resident.js";
import type { Compactor } from "./compactor.js";
import { KeyMaker } from "./key-maker.js";
import { readRow } from "./stored-run.js";
import { readSweep } from "./tombstone-rows.js";

/** How a sweeper goes about it. */
export interface SweepOptions {
  /** How often it looks for what is due and for what is left, in ms. Default 60,000. */
  readonly everyMs?: number;
  /** Rest between two batches, in ms: commits come between. Default 5. */
  readonly restMs?: number;
  /** Most keys of one batch. Default 2,000; at most `RANGE_KEYS_MAX`. */
  readonly keysMax?: number;
}

/** What it needs. */
export interface SweeperParts {
  readonly store: Store;
  readonly fence: Fence;
  readonly partition: number;
  readonly timers: Timers;
  readonly loop: Loop;
  /** Up to where all runs are stored in rows. */
  readonly horizonSequence: () => number;
  /** The pseudo run of the store: its events say what was purged. */
  readonly storeRun: Resident;
  /** Told what was removed, so that its room is given back. Default: nobody is. */
  readonly compactor?: Pick<Compactor, "removed">;
  readonly options?: SweepOptions;
}

/** What it has done in this process. */
export interface SweepCounts {
  /** Runs of which nothing but a tombstone is left. */
  readonly runs: number;
  /** Rows that were removed. */
  readonly rows: number;
}

/** Runs whose sweep begins at once. */
const runsAtOnce = 64;
/** Rows read at once of kinds whose values may be large. */
const largeRows = 16;

/** Kinds whose first field is the number of a run, in key order, so that a run's own row goes first: what is left behind it belongs to nobody. */
const kindsOfRun = KINDS.filter(({ perRun }) => perRun).map(({ kind }) => kind);

/**
 * Removes what is stored of deleted runs, a batch at a time, with a rest after each so that commits come between. A row says of each deleted run that
 * some of it may be left; it goes last, when an event of the store says that the run is purged. So whatever a crash leaves is found and removed at
 * the next start, and what is half removed is served to nobody: it is not there from the first batch on.
 */
export class Sweeper {
  readonly #parts: SweeperParts;
  readonly #options: Required<SweepOptions>;
  readonly #answers: DurableAnswers;
  readonly #counts = { runs: 0, rows: 0 };
  #sweeping: Promise<void> | undefined;
  readonly #keyMaker: KeyMaker;
  #isWanted = false;
  #isClosed = false;
  readonly #rests = new Set<() => void>();

  constructor(parts: SweeperParts) {
    this.#parts = parts;
    this.#answers = new DurableAnswers(parts.loop);
    this.#keyMaker = new KeyMaker(parts.partition);
    this.#options = { everyMs: 60_000, restMs: 5, keysMax: 2_000, ...parts.options };
  }

  get counts(): SweepCounts {
    return this.#counts;
  }

  get options(): Required<SweepOptions> {
    return this.#options;
  }

  /** True when nothing more is to be begun. */
  get isStopped(): boolean {
    const { loop } = this.#parts;
    return this.#isClosed || loop.failure !== undefined || loop.held !== undefined;
  }

  /** Removes what is left of all deleted runs whose deletion the horizon has passed. One sweep goes on at a time; asked meanwhile, it looks again. */
  sweep(): Promise<void> {
    this.#isWanted = true;
    this.#sweeping ??= this.#sweepWanted().finally(() => {
      this.#sweeping = undefined;
    });
    return this.#sweeping;
  }

  /** Ends it; resolves when nothing is being written any more. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const wake of this.#rests) {
      wake();
    }
    await this.#sweeping;
  }

  /** Lets others have their turn. */
  rest(ms: number = this.#options.restMs): Promise<void> {
    if (this.#isClosed) {
      return Promise.resolve();
    }
    return new Promise((resolve) => {
      const wake = (): void => {
        timer.cancel();
        this.#rests.delete(wake);
        resolve();
      };
      const timer = this.#parts.timers.after(ms, wake);
      this.#rests.add(wake);
    });
  }

  async #sweepWanted(): Promise<void> {
    while (this.#isWanted && !this.isStopped) {
      this.#isWanted = false;
      try {
        await this.#sweepAll();
      } catch (error) {
        this.#judge(error);
      }
    }
  }

  /** An error of the store is never taken for "nothing there": it ends the kernel, unless one row is damaged, which stays as it is. */
  #judge(error: unknown): void {
    const { loop } = this.#parts;
    if (damageIn(error) !== undefined) {
      loop.faults.record(0, "sweep", error);
    } else if (!(this.isStopped && error instanceof StoreError)) {
      loop.fail(error);
    }
  }

  async #sweepAll(): Promise<void> {
    const { store, partition, horizonSequence, loop } = this.#parts;
    let { gte, lt } = rangeOfKind(sweepKey.kind, partition);
    while (!this.isStopped) {
      const page = await store.read({ gte, lt, limit: runsAtOnce });
      const last = page.at(-1);
      if (last === undefined) {
        return;
      }
      gte = keyAfter(last.key);
      const runs = page
        .map(readSweep)
        .filter(({ sequence }) => sequence <= horizonSequence())
        .map(({ runNumber }) => runNumber)
        .filter((runNumber) => this.#isDeleted(runNumber) && loop.residency.leave(runNumber));
      if (runs.length > 0) {
        await this.#purge(runs);
      }
    }
  }

  /** Its own row is the last word, as long as it is there. */
  #isDeleted(runNumber: number): boolean {
    const { store, partition, loop } = this.#parts;
    const row = readRow({ store, keys: this.#keyMaker }, runNumber)?.row;
    if (row === undefined || row.deletion !== undefined) {
      return true;
    }
    loop.faults.record(
      runNumber,
      "sweep",
      new Error(`Run ${runNumber} of partition ${partition} is to be swept, but it is not deleted`),
    );
    return false;
  }

  async #purge(runs: readonly number[]): Promise<void> {
    for (const kind of kindsOfRun) {
      for (const range of rangesOf(kind, this.#parts.partition, runs)) {
        await this.#gather(kind, range);
      }
    }
    await this.#flush();
    if (this.isStopped) {
      return;
    }
    const { loop, storeRun, store, fence, partition } = this.#parts;
    loop.appendEvents(storeRun, [{ case: "runPurged", value: { runs: [...runs] } }]);
    await this.#answers.positionWhenDurable();
    const deletes = runs.map((runNumber) => sweepKey.encode({ partition, runNumber }));
    await store.putRows({ puts: [], deletes, ranges: [] }, fence);
    this.#counts.runs += runs.length;
    await this.rest();
  }

  /** Ranges of the batch, with the bytes of their rows. */
  #ranges: { readonly range: KeyRange; readonly bytes: number }[] = [];
  #keys = 0;

  /** Adds a range to the batch, as much of it as fits, and writes each batch that is full. */
  async #gather(kind: number, range: KeyRange): Promise<void> {
    const { store } = this.#parts;
    const { keysMax } = this.#options;
    let { gte } = range;
    while (!this.isStopped) {
      const most = isLarge(kind) ? largeRows : keysMax;
      const limit = Math.min(most, keysMax - this.#keys);
      const page = await store.read({ gte, lt: range.lt, limit });
      const last = page.at(-1);
      if (last === undefined) {
        return;
      }
      const lt = keyAfter(last.key);
      const bytes = page.reduce((sum, { key, value }) => sum + key.length + value.length, 0);
      this.#ranges.push({ range: { gte, lt }, bytes });
      this.#keys += page.length;
      gte = lt;
      if (this.#keys >= keysMax) {
        await this.#flush();
        await this.rest();
      }
    }
  }

  async #flush(): Promise<void> {
    if (this.#ranges.length === 0 || this.isStopped) {
      return;
    }
    const { store, fence, compactor } = this.#parts;
    const removed = this.#ranges;
    const ranges = removed.map(({ range }) => range);
    const rows = this.#keys;
    this.#ranges = [];
    this.#keys = 0;
    await store.putRows({ puts: [], deletes: [], ranges }, fence);
    for (const { range, bytes } of removed) {
      compactor?.removed(range, bytes);
    }
    this.#counts.rows += rows;
  }
}

function isLarge(kind: number): boolean {
  return kind === blobKey.kind || kind === chunkKey.kind;
}

/** Ranges of one kind for runs by rising number: one for those whose numbers follow each other. */
function* rangesOf(
  kind: number,
  partition: number,
  runs: readonly number[],
): Generator<KeyRange, void, undefined> {
  for (let at = 0; at < runs.length; ) {
    const first = runs[at] ?? 0;
    let last = first;
    for (at++; runs[at] === last + 1; at++) {
      last++;
    }
    const { gte } = rangeOfRun(kind, { partition, runNumber: first });
    const { lt } = rangeOfRun(kind, { partition, runNumber: last });
    yield { gte, lt };
  }
}
