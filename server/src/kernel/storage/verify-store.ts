import {
  chunkKey,
  leaseKey,
  nameKey,
  operationKeyKey,
  owedKey,
  rangeOfKind,
  rangeOfRun,
  readyKey,
  runKey,
  sweepKey,
  timerKey,
  visibilityKey,
} from "../../log/key.js";
import type { StoreMeta } from "../../log/meta.js";
import type { Store } from "../../log/store.js";
import { StoreDamaged, StoreFailed } from "../../log/store-errors.js";
import { readPages } from "../../log/store-scan.js";
import {
  type VerifyCounts,
  type VerifyProblem,
  type VerifyReport,
  verifyLog,
} from "../../log/verify-log.js";
import { PlanCache } from "../plan-cache.js";
import { KeyMaker } from "./key-maker.js";
import { recover } from "./recovery.js";
import { readStoredRunRow } from "./run-rows.js";
import { storeRunNumber } from "./seals.js";
import type { RowSource } from "./stored-run.js";
import { Tail } from "./tail.js";
import { type RowCounts, verifyRun, verifyTailRun } from "./verify-run.js";

const pageRows = 64;

/** What to verify. */
export interface VerifyStoreOptions {
  readonly partition: number;
  readonly meta: Pick<StoreMeta, "anchor" | "horizon">;
}

/**
 * Verifies a store whole, while no kernel serves it: the chain, the chunks, the seals and the rows by themselves (`verifyLog`), and then for
 * each run that replaying its history gives its rows, byte for byte, that the rows which stand for it are there and no others, and that
 * the tail of the log applies on top. One run is in memory at a time, and the tail. Nothing is changed. The last report is `done`.
 */
export async function* verifyStore(
  store: Store,
  options: VerifyStoreOptions,
): AsyncGenerator<VerifyReport, void, undefined> {
  let done: Extract<VerifyReport, { kind: "done" }> | undefined;
  for await (const report of verifyLog(store, options)) {
    if (report.kind === "done") {
      done = report;
    } else {
      yield report;
    }
  }
  if (done === undefined || !done.isComplete) {
    yield* done === undefined ? [] : [done];
    return;
  }
  const states = new StateVerification(store, options.partition, done.counts);
  let isComplete = true;
  try {
    yield* states.check();
  } catch (error) {
    if (!(error instanceof StoreFailed)) {
      throw error;
    }
    isComplete = false;
    yield states.problem(error);
  }
  yield { ...done, isComplete, problems: done.problems + states.problems };
}

class StateVerification {
  problems = 0;
  readonly #store: Store;
  readonly #partition: number;
  readonly #source: RowSource;
  readonly #counts: VerifyCounts;
  readonly #told: RowCounts = { chunks: 0, names: 0, operationKeys: 0, index: 0 };
  #tail = new Tail();

  constructor(store: Store, partition: number, counts: VerifyCounts) {
    this.#store = store;
    this.#partition = partition;
    this.#counts = counts;
    const plans = new PlanCache().recorded;
    this.#source = { store, partition, plans, keys: new KeyMaker(partition) };
  }

  async *check(): AsyncGenerator<VerifyReport, void, undefined> {
    try {
      this.#tail = (await recover(this.#store, this.#partition)).tail;
    } catch (error) {
      // The log does not hold together, which was reported; runs are checked without their tails.
      if (!(error instanceof StoreDamaged)) {
        throw error;
      }
    }
    const range = rangeOfKind(runKey.kind, this.#partition);
    for await (const page of readPages(this.#store, range, pageRows)) {
      for (const { key, value } of page) {
        yield* this.#attempt(() => this.#checkRun(key, value));
      }
      yield { kind: "progress", stage: "rows", counts: this.#counts };
    }
    for (const number of [...this.#tail.numbers()]) {
      const slices = this.#tail.take(number);
      yield* this.#attempt(() => verifyTailRun(this.#source, number, slices));
    }
    if (this.problems === 0) {
      await this.#countSwept();
      yield* this.#checkCounts();
    }
  }

  /** Makes an error a report. */
  problem(error: StoreDamaged | StoreFailed): VerifyProblem {
    this.problems++;
    const place = error instanceof StoreDamaged ? error : undefined;
    return {
      kind: "problem",
      stage: "rows",
      message: error.message,
      firstBadSequence: place?.firstBadSequence,
      key: place?.key,
      damage: place,
    };
  }

  async #checkRun(key: Uint8Array, value: Uint8Array): Promise<void> {
    const { runNumber } = runKey.decode(key);
    const stored = readStoredRunRow(key, value);
    if (runNumber === storeRunNumber) {
      this.#told.chunks += stored.row.chunkCount;
      return;
    }
    const slices = this.#tail.take(runNumber);
    const counts = await verifyRun(this.#source, runNumber, stored, slices);
    this.#told.chunks += counts.chunks;
    this.#told.names += counts.names;
    this.#told.operationKeys += counts.operationKeys;
    this.#told.index += counts.index;
  }

  /** What is left of the histories of deleted runs whose own rows are gone. */
  async #countSwept(): Promise<void> {
    const partition = this.#partition;
    for await (const page of readPages(this.#store, rangeOfKind(sweepKey.kind, partition))) {
      for (const { key } of page) {
        const { runNumber } = sweepKey.decode(key);
        if (this.#store.get(runKey.encode({ partition, runNumber })) === undefined) {
          const range = rangeOfRun(chunkKey.kind, { partition, runNumber });
          for await (const chunks of readPages(this.#store, range, pageRows)) {
            this.#told.chunks += chunks.length;
          }
        }
      }
    }
  }

  /** Every row that should be there was found; so if there are as many as there should be, there are no others. */
  async *#checkCounts(): AsyncGenerator<VerifyReport, void, undefined> {
    const found: RowCounts = {
      chunks: this.#counts.chunks,
      names: await this.#countRows([nameKey.kind]),
      operationKeys: await this.#countRows([operationKeyKey.kind]),
      index: await this.#countRows([
        visibilityKey.kind,
        timerKey.kind,
        readyKey.kind,
        leaseKey.kind,
        owedKey.kind,
      ]),
    };
    for (const [what, sort] of sorts) {
      if (found[sort] !== this.#told[sort]) {
        yield this.problem(
          new StoreDamaged(
            `Expected ${this.#told[sort]} ${what} for all runs, but found ${found[sort]}`,
          ),
        );
      }
    }
  }

  async #countRows(kinds: readonly number[]): Promise<number> {
    let count = 0;
    for (const kind of kinds) {
      for await (const page of readPages(this.#store, rangeOfKind(kind, this.#partition))) {
        count += page.length;
      }
    }
    return count;
  }

  async *#attempt(
    check: () => void | Promise<void>,
  ): AsyncGenerator<VerifyProblem, void, undefined> {
    try {
      await check();
    } catch (error) {
      if (!(error instanceof StoreDamaged)) {
        throw error;
      }
      yield this.problem(error);
    }
  }
}

const sorts: readonly (readonly [string, keyof RowCounts])[] = [
  ["history chunks", "chunks"],
  ["names", "names"],
  ["operation keys", "operationKeys"],
  ["index rows", "index"],
];
