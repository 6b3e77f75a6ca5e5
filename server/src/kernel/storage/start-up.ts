import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { isRunOpen } from "../../core/transitions.js";
import { leaseKey, owedKey, rangeOfKind, readyKey, timerKey } from "../../log/key.js";
import type { RowPut, Store } from "../../log/store.js";
import { StoreClosed, StoreDamaged } from "../../log/store-errors.js";
import { readPages } from "../../log/store-scan.js";
import type { Loop } from "../loop.js";
import { NumberSet } from "../number-set.js";
import type { Timers } from "../ports.js";
import type { Resident } from "../resident.js";
import type { Checkpointer } from "./checkpointer.js";
import { walkOpenRuns } from "./count-open-runs.js";
import { readLeaseRow } from "./index-rows.js";
import { ReadyQueueNames } from "./ready-queue-names.js";
import type { Recovery } from "./recovery.js";
import type { StoredRuns } from "./run-reader.js";
import type { SetAside } from "./set-aside.js";

/** What a start-up needs. */
export interface StartUpParts {
  readonly store: Store;
  readonly recovery: Recovery;
  readonly runs: StoredRuns;
  readonly loop: Loop;
  readonly checkpointer: Checkpointer;
  readonly timers: Timers;
  readonly setAside: SetAside;
  /** Told once all that was open is known and counted. */
  readonly counted?: (found: FoundOpen) => void;
}

/** What a start found open. */
export interface FoundOpen {
  /** Numbers of the runs, ascending. */
  readonly runs: readonly number[];
  readonly leases: number;
}

/** Rows read at once. */
const pageRows = 2000;
/** Runs of the tail that are read before others get their turn. */
const runsPerStep = 100;
/** Runs read on demand after which memory is looked at. */
const loadsPerRelief = 1000;

/**
 * What goes on in the background after a start, while the kernel serves: leases, ready tasks and timers are paged in from their rows,
 * and the runs are read that the tail of the log touched, or that owe others something. Then the checkpointer begins, and runs that are
 * open are counted.
 *
 * Rows are read as they were at the horizon. For a run that is in memory, or in the tail, they may be old; its state says better what
 * is open in it, and is asked when the run is read. So each run is registered by exactly one of the two, and no row is written before
 * all have been read.
 */
export class StartUp {
  readonly #parts: StartUpParts;
  /** Runs older than this process that were read in it: a bit each, since a long life reads them all. */
  readonly #registered = new NumberSet();
  readonly #firstNewRun: number;
  /** Runs that the tail told of at the beginning: no row of an index is taken for them. */
  readonly #inTail = new NumberSet();
  /** Those older than this process that were counted as open from their row. */
  readonly #counted = new NumberSet();
  /** Runs that owe others something. */
  readonly #senders = new Set<number>();
  /** Those of them that were open. */
  readonly #open = new NumberSet();
  /** Runs whose leases were counted. */
  readonly #leased = new NumberSet();
  #leases = 0;
  #isClosed = false;
  /** True once every ready row is in its queue, but those of runs whose state tells better. */
  #isReadyRead = false;
  #loads = 0;

  constructor(parts: StartUpParts) {
    this.#parts = parts;
    this.#firstNewRun = parts.recovery.nextRunNumber;
  }

  /**
   * Call at once when the loop exists, before the first command: from here on every run that is read registers its open work. Resolves
   * when all open work is known and the checkpointer has begun; how many runs are open is known later. A failure of the store ends the loop.
   */
  async begin(): Promise<void> {
    const { runs, loop, checkpointer, recovery, setAside } = this.#parts;
    for (const number of recovery.tail.numbers()) {
      this.#inTail.add(number);
    }
    runs.onLoad = (resident) => this.#loaded(resident);
    for (const number of setAside.runs) {
      loop.residency.setAside(number, damagedEarlier(number));
    }
    checkpointer.sealLeft(recovery.unsealed);
    // Side by side: while the disk gives a page of rows, runs of the tail are applied.
    await this.#orFail(Promise.all([this.#readIndex(), this.#readTail()]));
    if (!this.#isStopped) {
      checkpointer.open();
      void this.#orFail(this.#readRuns([...this.#senders]));
      // Only a metric waits for it, and it may walk many rows.
      void this.#orFail(this.#countOpen());
    }
  }

  /** Ends it early; safe when it is done. */
  close(): void {
    this.#isClosed = true;
  }

  async #orFail(work: Promise<unknown>): Promise<void> {
    try {
      await work;
    } catch (error) {
      if (!(this.#isStopped && error instanceof StoreClosed)) {
        this.#parts.loop.fail(error);
      }
    }
  }

  get #isStopped(): boolean {
    const { loop, checkpointer } = this.#parts;
    return this.#isClosed || checkpointer.isClosing || loop.failure !== undefined;
  }

  #loaded(resident: Resident): void {
    const { number } = resident;
    const { loop, checkpointer, timers } = this.#parts;
    if (resident.slices.length > 0) {
      checkpointer.recovered(resident);
    }
    // What changed in this process was told by the events themselves; what is older must be told once, when it is first read.
    if (number < this.#firstNewRun && !this.#registered.has(number)) {
      this.#registered.add(number);
      // A run of the tail is told by its state alone, also one whose rows have all that the tail has; of any other what is ready lies in its queue by then.
      const isQueued = this.#isReadyRead && !this.#inTail.has(number);
      loop.work.adopt(resident, isQueued);
      this.#countLoaded(resident);
    }
    this.#loads++;
    if (checkpointer.loaded(resident) || this.#loads % loadsPerRelief === 0) {
      timers.soon(() => checkpointer.relieve());
    }
  }

  /** True when the run's state says what is open in it, now or as soon as it is read from the tail. */
  #isTold(run: number): boolean {
    return this.#registered.has(run) || this.#parts.recovery.tail.has(run);
  }

  async #readIndex(): Promise<void> {
    await this.#readLeases();
    await this.#readTimers();
    await this.#readReady();
    this.#isReadyRead = true;
    await this.#readOwed();
  }

  #readLeases(): Promise<void> {
    const { work } = this.#parts.loop;
    return this.#readRows(leaseKey.kind, ({ key, value }) => {
      const { runNumber, number } = leaseKey.decode(key);
      if (!this.#isTold(runNumber)) {
        const { leaseVersion, leaseMs, sessionId } = readLeaseRow(key, value);
        this.#leased.add(runNumber);
        this.#leases++;
        work.restoreLease({ runNumber, task: number, leaseVersion, leaseMs, sessionId });
      }
    });
  }

  #readReady(): Promise<void> {
    const { dispatcher } = this.#parts.loop.work;
    const queues = new ReadyQueueNames();
    return this.#readRows(readyKey.kind, ({ key }) => {
      const { name, priority, runNumber, number } = queues.read(key);
      if (!this.#isTold(runNumber)) {
        dispatcher.pushNamed(name, runNumber, number, priority);
      }
    });
  }

  /** Whoever owes something is read when all is known: its state has what is to be sent. */
  #readOwed(): Promise<void> {
    return this.#readRows(owedKey.kind, ({ key }) => {
      const { runNumber } = owedKey.decode(key);
      if (!this.#isTold(runNumber)) {
        this.#senders.add(runNumber);
      }
    });
  }

  #readTimers(): Promise<void> {
    const { work } = this.#parts.loop;
    return this.#readRows(timerKey.kind, ({ key }) => {
      const { dueMs, runNumber } = timerKey.decode(key);
      if (!this.#isTold(runNumber)) {
        // Reading the run arms the deadlines of all its tasks; which one this is does not matter.
        work.armDeadline(runNumber, 0, dueMs);
      }
    });
  }

  #countLoaded({ run, number }: Resident): void {
    if (isRunOpen(run.status) && run.kind === "run") {
      this.#open.add(number);
    }
    if (!this.#leased.has(number)) {
      this.#leases += run.tasks.filter(({ status }) => status === TaskStatus.LEASED).length;
      this.#leased.add(number);
    }
    if (isRunOpen(run.status) && !this.#counted.has(number)) {
      this.#parts.loop.work.began(run);
    }
  }

  /**
   * Each run is counted once: one that was read before the walk comes to its row, from its state; any other from its row, which does not change
   * until it is read. So it does not matter what is written meanwhile.
   */
  async #countOpen(): Promise<void> {
    const { store, recovery, loop } = this.#parts;
    const { openRuns } = loop.work;
    await walkOpenRuns(store, recovery.partition, (runs) => {
      for (const run of runs) {
        if (run < this.#firstNewRun && !this.#isTold(run)) {
          this.#counted.add(run);
          this.#open.add(run);
          openRuns.add();
        }
      }
      return !this.#isStopped;
    });
    if (!this.#isStopped) {
      openRuns.known();
      this.#parts.counted?.({ runs: [...this.#open.values()], leases: this.#leases });
    }
  }

  async #readRows(kind: number, take: (row: RowPut) => void): Promise<void> {
    const { store, recovery, loop } = this.#parts;
    for await (const page of readPages(store, rangeOfKind(kind, recovery.partition), pageRows)) {
      if (this.#isStopped) {
        return;
      }
      for (const row of page) {
        take(row);
      }
      loop.schedule();
    }
  }

  #readTail(): Promise<void> {
    return this.#readRuns([...this.#parts.recovery.tail.numbers()]);
  }

  async #readRuns(numbers: readonly number[]): Promise<void> {
    let steps = 0;
    for (const number of numbers) {
      if (this.#isStopped) {
        return;
      }
      await this.#readRun(number);
      steps++;
      if (steps % runsPerStep === 0) {
        await this.#rest();
      }
    }
  }

  /** One that is damaged is refused whenever it is asked for; neither the others nor the horizon wait for it. */
  async #readRun(number: number): Promise<void> {
    const { loop } = this.#parts;
    try {
      await loop.residency.find(number);
    } catch (error) {
      if (!(error instanceof StoreDamaged)) {
        throw error;
      }
      loop.faults.record(number, "read", error);
      await this.#setAside(number);
    }
  }

  /** Its events stay in the log, and its name in a row; only then does it leave the tail. */
  async #setAside(number: number): Promise<void> {
    const { setAside, recovery } = this.#parts;
    const first = recovery.tail.slices(number)?.[0]?.firstSequence;
    if (first !== undefined) {
      await setAside.add(number, first);
      recovery.tail.take(number);
    }
  }

  #rest(): Promise<void> {
    return new Promise((resolve) => {
      this.#parts.timers.soon(resolve);
    });
  }
}

function damagedEarlier(number: number): StoreDamaged {
  return new StoreDamaged(
    `Expected run ${number} to be as it was written, but it was found damaged at an earlier start, and the log went on without it`,
  );
}
