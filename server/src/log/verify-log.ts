/**
 * Checks all that is stored, in bounded memory: the chain of segments from the anchor to the head, the chunks of every
 * run, their chain and their seals, and the envelope of every row. Whether rows say what their events say is for those
 * who know the events: they look at segments and chunks as they come by, through `VerifyVisitor`.
 *
 * A problem ends nothing: the rest is checked as well. The first problem of the log names the first bad sequence.
 */

import { equalBytes, toHex } from "./bytes.js";
import {
  CHUNK_ORIGIN,
  type Chunk,
  type ChunkPoint,
  chunkPointOf,
  readChunk,
  verifyChunkLink,
} from "./chunk.js";
import { chunkKey, KINDS, type KindInfo, rangeOfKind, segmentKey } from "./key.js";
import type { StoreMeta } from "./meta.js";
import { readRow } from "./row.js";
import {
  type ChainPoint,
  chainPointOf,
  type EventSlice,
  readSegment,
  type Segment,
  verifyLink,
} from "./segment.js";
import type { RowPut, Store } from "./store.js";
import { damageIn, StoreDamaged, StoreFailed } from "./store-errors.js";
import { readPages } from "./store-scan.js";
import { GoneRuns, isBeingSwept, storeSlicesOf, verifySeals } from "./verify-seals.js";

/** What is being checked. */
export type VerifyStage = "log" | "history" | "rows";

/** How much has been checked. */
export interface VerifyCounts {
  readonly segments: number;
  readonly events: number;
  readonly chunks: number;
  readonly rows: number;
  readonly bytes: number;
}

/** One thing that is not as written. */
export interface VerifyProblem {
  readonly kind: "problem";
  readonly stage: VerifyStage;
  readonly message: string;
  readonly firstBadSequence: number | undefined;
  /** In hex. */
  readonly key: string | undefined;
  /** The same as an error; undefined when the store failed. */
  readonly damage: StoreDamaged | undefined;
}

/** What a verification says while it goes on, and once at its end (`done`). */
export type VerifyReport =
  | { readonly kind: "progress"; readonly stage: VerifyStage; readonly counts: VerifyCounts }
  | VerifyProblem
  | {
      readonly kind: "done";
      readonly counts: VerifyCounts;
      readonly problems: number;
      /** False if the store failed under the reading: what came later was not checked. */
      readonly isComplete: boolean;
      /** The last segment that could be read. */
      readonly head: ChainPoint;
    };

/** Sees everything sound on its way. What it throws as `StoreDamaged` is reported as a problem. */
export interface VerifyVisitor {
  segment?(segment: Segment): void | Promise<void>;
  chunk?(chunk: Chunk): void | Promise<void>;
  row?(row: RowPut, info: KindInfo): void | Promise<void>;
}

/** What to verify. */
export interface VerifyOptions {
  readonly partition: number;
  readonly meta: Pick<StoreMeta, "anchor" | "horizon">;
  readonly visitor?: VerifyVisitor;
  /** Segments beyond this sequence are not looked at. Default: all are. */
  readonly through?: number;
  /** Segments or chunks read at once. Default 16. */
  readonly pageContainers?: number;
  /** Rows read at once. Default 256. */
  readonly pageRows?: number;
}

const PAGE_CONTAINERS = 16;
const PAGE_ROWS = 256;

/** Verifies a store. The last report is `done`; it throws only what is no `StoreError`. */
export async function* verifyLog(
  store: Store,
  options: VerifyOptions,
): AsyncGenerator<VerifyReport, void, undefined> {
  const verification = new Verification(store, options);
  try {
    yield* verification.checkLog();
    yield* verification.checkHistory();
    yield* verification.checkRows();
    yield verification.finish(true);
  } catch (error) {
    if (!(error instanceof StoreFailed)) throw error;
    yield verification.problem(error);
    yield verification.finish(false);
  }
}

class Verification {
  readonly #store: Store;
  readonly #partition: number;
  readonly #meta: VerifyOptions["meta"];
  readonly #visitor: VerifyVisitor;
  readonly #through: number;
  readonly #pageContainers: number;
  readonly #pageRows: number;
  readonly #counts = { segments: 0, events: 0, chunks: 0, rows: 0, bytes: 0 };
  readonly #gone = new GoneRuns();
  #stage: VerifyStage = "log";
  #problems = 0;
  #head: ChainPoint;

  constructor(store: Store, options: VerifyOptions) {
    this.#store = store;
    this.#partition = options.partition;
    this.#meta = options.meta;
    this.#visitor = options.visitor ?? {};
    this.#through = options.through ?? Number.MAX_SAFE_INTEGER - 1;
    this.#pageContainers = options.pageContainers ?? PAGE_CONTAINERS;
    this.#pageRows = options.pageRows ?? PAGE_ROWS;
    this.#head = options.meta.anchor;
  }

  /** The chain of segments. Behind a bad segment, the next one is taken as it is: its own links go on. */
  async *checkLog(): AsyncGenerator<VerifyReport, void, undefined> {
    this.#stage = "log";
    let previous: ChainPoint | undefined = this.#meta.anchor;
    const partition = this.#partition;
    const { gte } = segmentKey.range({ partition });
    const lt = segmentKey.encode({ partition, sequence: this.#through + 1 });
    for await (const page of readPages(this.#store, { gte, lt }, this.#pageContainers)) {
      for (const row of page) {
        const segment: Segment | VerifyProblem = this.#attempt(() =>
          readSegment(row.key, row.value),
        );
        if ("kind" in segment) {
          yield segment;
          previous = undefined;
          continue;
        }
        yield* this.#checkSegment(previous, segment);
        previous = chainPointOf(segment);
        this.#head = previous;
        this.#counts.segments += 1;
        this.#counts.events += segment.count;
        this.#counts.bytes += row.value.byteLength;
      }
      yield this.#progress();
    }
    if (this.#head.sequence < this.#meta.horizon.sequence) {
      yield this.problem(
        new StoreDamaged(
          `Expected the log to reach the horizon ${this.#meta.horizon.sequence}, but it ends at ${this.#head.sequence}`,
          { firstBadSequence: this.#head.sequence + 1 },
        ),
      );
    }
  }

  /** The chunks of every run, run 0 with the store's own events included. */
  async *checkHistory(): AsyncGenerator<VerifyReport, void, undefined> {
    this.#stage = "history";
    let runNumber = -1;
    let point: ChunkPoint = CHUNK_ORIGIN;
    const range = rangeOfKind(chunkKey.kind, this.#partition);
    for await (const page of readPages(this.#store, range, this.#pageContainers)) {
      for (const row of page) {
        const chunk: Chunk | VerifyProblem = this.#attempt(() => readChunk(row.key, row.value));
        if ("kind" in chunk) {
          yield chunk;
          continue;
        }
        if (chunk.runNumber !== runNumber) point = CHUNK_ORIGIN;
        runNumber = chunk.runNumber;
        yield* this.#checkAll([
          () => this.#verifyLink(point, chunk),
          () => chunk.runNumber > 0 || this.#verifySeals(chunk.slices()),
          () => this.#visitor.chunk?.(chunk),
        ]);
        point = chunkPointOf(chunk);
        this.#counts.chunks += 1;
        this.#counts.bytes += row.value.byteLength;
      }
      yield this.#progress();
    }
    for (const damage of this.#gone.unexplained(this.#store, this.#partition)) {
      yield this.problem(damage);
    }
  }

  #verifySeals(slices: Iterable<EventSlice>): void {
    verifySeals(this.#store, this.#partition, { slices, gone: this.#gone });
  }

  /** Of a deleted run the first chunks go first. */
  #verifyLink(point: ChunkPoint, chunk: Chunk): void {
    const { runNumber } = chunk;
    if (!isBeingSwept(this.#store, { partition: this.#partition, runNumber })) {
      verifyChunkLink(point, chunk);
    }
  }

  /** Every other row: its key, its envelope; and that there are no rows of kinds nobody knows. */
  async *checkRows(): AsyncGenerator<VerifyReport, void, undefined> {
    this.#stage = "rows";
    let nextKind = 0;
    for (const info of KINDS) {
      yield* this.#checkUnknown(nextKind, info.kind);
      nextKind = info.kind + 1;
      if (info.form === "segment" || info.form === "chunk") continue;
      const range = rangeOfKind(info.kind, this.#partition);
      for await (const page of readPages(this.#store, range, this.#pageRows)) {
        for (const row of page) {
          yield* this.#checkAll([() => checkForm(row, info), () => this.#visitor.row?.(row, info)]);
          this.#counts.rows += 1;
          this.#counts.bytes += row.value.byteLength;
        }
        yield this.#progress();
      }
    }
    yield* this.#checkUnknown(nextKind, 0xff);
  }

  /** The last report. */
  finish(isComplete: boolean): VerifyReport {
    return {
      kind: "done",
      counts: { ...this.#counts },
      problems: this.#problems,
      isComplete,
      head: this.#head,
    };
  }

  /** Makes an error a report. */
  problem(error: StoreDamaged | StoreFailed): VerifyProblem {
    this.#problems += 1;
    const place = damageIn(error);
    return {
      kind: "problem",
      stage: this.#stage,
      message: (place ?? error).message,
      firstBadSequence: place?.firstBadSequence,
      key: place?.key,
      damage: place,
    };
  }

  #checkSegment(
    previous: ChainPoint | undefined,
    segment: Segment,
  ): AsyncGenerator<VerifyReport, void, undefined> {
    return this.#checkAll([
      () => previous === undefined || verifyLink(previous, segment),
      () => checkHorizon(this.#meta.horizon, segment),
      () => this.#verifySeals(storeSlicesOf(segment)),
      () => this.#visitor.segment?.(segment),
    ]);
  }

  /** Does all checks, whichever fail. */
  async *#checkAll(
    checks: readonly (() => unknown)[],
  ): AsyncGenerator<VerifyReport, void, undefined> {
    for (const check of checks) {
      try {
        await check();
      } catch (error) {
        if (!(error instanceof StoreDamaged)) throw error;
        yield this.problem(error);
      }
    }
  }

  #attempt<T extends object>(read: () => T): T | VerifyProblem {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof StoreDamaged)) throw error;
      return this.problem(error);
    }
  }

  /** Kinds from one to before another are nobody's. */
  async *#checkUnknown(
    fromKind: number,
    toKind: number,
  ): AsyncGenerator<VerifyReport, void, undefined> {
    const range = { gte: Uint8Array.of(fromKind), lt: Uint8Array.of(toKind) };
    const [row] = fromKind === toKind ? [] : await this.#store.read({ ...range, limit: 1 });
    if (row === undefined) return;
    yield this.problem(
      new StoreDamaged("Expected rows of known kinds only, but found another", {
        key: toHex(row.key),
      }),
    );
  }

  #progress(): VerifyReport {
    return { kind: "progress", stage: this.#stage, counts: { ...this.#counts } };
  }
}

function checkForm({ key, value }: RowPut, info: KindInfo): void {
  info.decode(key);
  const isEmpty = value.byteLength === 0;
  if (isEmpty && info.form !== "row") return;
  if (info.form !== "empty") {
    readRow(key, value);
    return;
  }
  throw new StoreDamaged(`Expected a ${info.name} row without a value, but it has one`, {
    key: toHex(key),
  });
}

function checkHorizon(horizon: ChainPoint, segment: Segment): void {
  const isPast =
    segment.firstSequence > horizon.sequence || segment.lastSequence < horizon.sequence;
  if (isPast) return;
  const isAtEnd = segment.lastSequence === horizon.sequence;
  if (isAtEnd && equalBytes(segment.hash, horizon.hash)) return;
  throw new StoreDamaged(
    `Expected the horizon at the end of a segment with hash ${toHex(horizon.hash)}, ` +
      `but the segment there ends at ${segment.lastSequence} with hash ${toHex(segment.hash)}`,
    { firstBadSequence: horizon.sequence },
  );
}
