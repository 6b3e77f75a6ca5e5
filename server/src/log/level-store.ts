/**
 * The store on LevelDB. The only file that imports it.
 *
 * **Every** batch is synced: LevelDB does not sync a log file that it rotates away from, so an earlier
 * unsynced write can vanish while a later synced one survives. Nothing is retried and nothing is repaired.
 */

import { readdir, stat, statfs } from "node:fs/promises";
import { join } from "node:path";
import { Level } from "level";
import { rangeOfKind, segmentKey } from "./key.js";
import { keyAfter, keyBefore } from "./key-codec.js";
import {
  type Fence,
  type KeyRange,
  PAGE_ROWS_DEFAULT,
  type PageRange,
  RANGE_KEYS_MAX,
  type RowPut,
  type RowsWrite,
  type SegmentWrite,
  type Store,
} from "./store.js";
import { codesOf, reasonOf, StoreDamaged, StoreWriteInvalid } from "./store-errors.js";
import { StoreGuard } from "./store-guard.js";

const MIB = 1024 * 1024;
// Measured with the hot path: LevelDB's default of 4 MB doubles its own CPU per run.
const WRITE_BUFFER_BYTES = 64 * MIB;
const FILE_BYTES = 32 * MIB;
const CACHE_BYTES = 8 * MIB;
const RANGE_PAGE_KEYS = 5_000;

/** Where the database lies and whose log it holds. */
export interface LevelStoreOptions {
  /** The folder of the LevelDB files. */
  readonly directory: string;
  /** Whether an absent database is made; default false. Only an explicit init may say true. */
  readonly create?: boolean;
  /** The partition whose segments are appended; default 0. */
  readonly partition?: number;
  /** The epoch below which writes are refused; default 0. */
  readonly epoch?: number;
  /** Called once, when the first write fails, before any caller is told. */
  readonly onWriteFailure?: () => void;
}

type Database = Level<Uint8Array, Uint8Array>;

/** One handle on one LevelDB. Another handle on the same folder, in any process, cannot be opened beside it. */
export class LevelStore implements Store {
  readonly #db: Database;
  readonly #guard: StoreGuard;
  readonly #directory: string;
  readonly #partition: number;
  #closing: Promise<void> | undefined;

  private constructor(db: Database, options: LevelStoreOptions, lastFirstSequence: number) {
    this.#db = db;
    this.#directory = options.directory;
    this.#partition = options.partition ?? 0;
    const { epoch = 0, onWriteFailure } = options;
    this.#guard = new StoreGuard({
      epoch,
      lastFirstSequence,
      ...(onWriteFailure === undefined ? {} : { onWriteFailure }),
    });
  }

  /**
   * Opens the database. Errors are LevelDB's own, with a `code` (LEVEL_LOCKED, LEVEL_CORRUPTION, …) along
   * their causes; `openDataFolder` turns them into names of ours.
   */
  static async open(options: LevelStoreOptions): Promise<LevelStore> {
    const db: Database = new Level<Uint8Array, Uint8Array>(options.directory, {
      keyEncoding: "view",
      valueEncoding: "view",
      createIfMissing: options.create ?? false,
      compression: true,
      writeBufferSize: WRITE_BUFFER_BYTES,
      maxFileSize: FILE_BYTES,
      cacheSize: CACHE_BYTES,
    });
    await db.open();
    try {
      const range = rangeOfKind(segmentKey.kind, options.partition ?? 0);
      const [last] = await db.keys({ ...range, reverse: true, limit: 1 }).all();
      return new LevelStore(db, options, last === undefined ? 0 : segmentKey.decode(last).sequence);
    } catch (error) {
      await db.close();
      throw error;
    }
  }

  /** Refuses writes of epochs below this one from now on; for whoever reads the epoch from the store itself. */
  raiseEpoch(epoch: number): void {
    this.#guard.raiseEpoch(epoch);
  }

  async append(segments: readonly SegmentWrite[], fence: Fence): Promise<void> {
    this.#guard.admitAppend(segments, fence);
    if (segments.length === 0) return;
    const batch = this.#db.batch();
    for (const { firstSequence, value } of segments) {
      batch.put(segmentKey.encode({ partition: this.#partition, sequence: firstSequence }), value);
    }
    await this.#guard.acknowledge("append a segment", batch.write({ sync: true }));
  }

  async putRows(write: RowsWrite, fence: Fence): Promise<void> {
    this.#guard.admitWrite(fence);
    const { puts, deletes, ranges } = write;
    if (ranges.length === 0) return this.#writeRows(puts, deletes);
    // Keys are looked up first; what the caller may reuse meanwhile is copied.
    const keptPuts = puts.map((put) => ({
      key: new Uint8Array(put.key),
      value: new Uint8Array(put.value),
    }));
    const keptDeletes = deletes.map((key) => new Uint8Array(key));
    const collected = await this.#guard.answer(
      "read a range",
      this.#collectKeys(ranges).catch(nameDamage),
    );
    this.#guard.admitWrite(fence);
    if (collected.length > RANGE_KEYS_MAX) {
      throw new StoreWriteInvalid(
        `Expected ranges of at most ${RANGE_KEYS_MAX} keys, but they hold more. ` +
          "Split them with splitRange.",
      );
    }
    return this.#writeRows(keptPuts, [...collected, ...keptDeletes]);
  }

  get(key: Uint8Array): Uint8Array | undefined {
    this.#guard.admit();
    try {
      return this.#db.getSync(key);
    } catch (cause) {
      throw damageOf(cause) ?? this.#guard.fail("read a row", cause);
    }
  }

  async read(range: PageRange): Promise<RowPut[]> {
    this.#guard.admit();
    const page = await this.#guard.answer(
      "read a page of rows",
      this.#readPage(range).catch(damageOrThrow),
    );
    if (page instanceof StoreDamaged) throw page;
    return page;
  }

  async freeBytes(): Promise<number> {
    this.#guard.admit();
    const { bavail, bsize } = await statfs(this.#directory);
    return bavail * bsize;
  }

  async usedBytes(): Promise<number> {
    this.#guard.admit();
    let bytes = 0;
    for (const name of await readdir(this.#directory)) {
      // Files come and go meanwhile; one that is gone has no bytes.
      bytes += await stat(join(this.#directory, name)).then(
        ({ size }) => size,
        () => 0,
      );
    }
    return bytes;
  }

  async compact(range: KeyRange, fence: Fence): Promise<void> {
    this.#guard.admitWrite(fence);
    await this.#compactRange(range);
    // What was put and removed while the same table was filled in memory lies in one file, which LevelDB does not rewrite by itself. Removing
    // two keys that nobody has, at both ends, makes it: they overlap every file of the range.
    await this.#writeRows([], [keyAfter(range.gte), keyBefore(range.lt)]);
    await this.#compactRange(range);
  }

  close(): Promise<void> {
    this.#closing ??= this.#guard.drain().then(() => this.#db.close());
    return this.#closing;
  }

  async #compactRange({ gte, lt }: KeyRange): Promise<void> {
    const db = this.#db;
    this.#guard.admit();
    if (!canCompact(db)) return;
    const compacted = db.compactRange(gte, lt, { keyEncoding: "view" });
    await this.#guard.answer("compact a range", compacted.catch(nameDamage));
  }

  async #writeRows(puts: readonly RowPut[], deletes: readonly Uint8Array[]): Promise<void> {
    if (puts.length + deletes.length === 0) return;
    const batch = this.#db.batch();
    for (const key of deletes) batch.del(key);
    for (const { key, value } of puts) batch.put(key, value);
    await this.#guard.acknowledge("write rows", batch.write({ sync: true }));
  }

  async #readPage(range: PageRange): Promise<RowPut[]> {
    const entries = await this.#db
      .iterator({
        gte: range.gte,
        lt: range.lt,
        reverse: range.reverse ?? false,
        limit: range.limit ?? PAGE_ROWS_DEFAULT,
      })
      .all();
    return entries.map(([key, value]) => ({ key, value }));
  }

  /** The keys of all ranges, in pages; stops soon after there are too many. */
  async #collectKeys(ranges: readonly KeyRange[]): Promise<Uint8Array[]> {
    const collected: Uint8Array[] = [];
    for (const range of ranges) {
      let gte = range.gte;
      for (;;) {
        const page = await this.#db.keys({ gte, lt: range.lt, limit: RANGE_PAGE_KEYS }).all();
        for (const key of page) collected.push(key);
        const last = page.at(-1);
        if (last === undefined || page.length < RANGE_PAGE_KEYS) break;
        if (collected.length > RANGE_KEYS_MAX) return collected;
        gte = keyAfter(last);
      }
    }
    return collected;
  }
}

/** `level` names only what browsers have as well; under Node.js it is LevelDB itself. */
interface Compacting {
  compactRange(
    start: Uint8Array,
    end: Uint8Array,
    options: { readonly keyEncoding: "view" },
  ): Promise<void>;
}

function canCompact(db: Database): db is Database & Compacting {
  return "compactRange" in db && typeof db.compactRange === "function";
}

/** Damage that LevelDB noticed itself. It notices little: it compares no checksums of tables. */
function damageOf(cause: unknown): StoreDamaged | undefined {
  if (!codesOf(cause).includes("LEVEL_CORRUPTION")) return undefined;
  return new StoreDamaged(
    `Expected a sound table, but LevelDB found ${reasonOf(cause)}`,
    {},
    { cause },
  );
}

/** A table that cannot be read is no failure of the disk: what lies in others is served. */
function damageOrThrow(cause: unknown): StoreDamaged {
  const damage = damageOf(cause);
  if (damage === undefined) throw cause;
  return damage;
}

function nameDamage(cause: unknown): never {
  throw damageOf(cause) ?? cause;
}
