/** Opens the store of a data folder, or says by name why not. Nothing is written before all has been verified. */

import { randomUUID } from "node:crypto";
import { closeSync, existsSync, fsyncSync, openSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { type Ballast, FileBallast, releaseWhenFull, removeBallast } from "./ballast.js";
import {
  FOLDER,
  findLivingKernel,
  inspectFolder,
  makeSecret,
  readSecret,
  readStoreFile,
  type StoreFile,
} from "./data-folder.js";
import type { FaultPlan } from "./fault-plan.js";
import { FaultStore } from "./fault-store.js";
import { type CreationStep, createStore } from "./genesis.js";
import { LevelStore } from "./level-store.js";
import { checkLevelFiles } from "./leveldb-check.js";
import { verifyHorizon } from "./log-reader.js";
import { readMeta, type StoreMeta } from "./meta.js";
import { StoreAbsent, StoreLocked } from "./open-errors.js";
import type { Store } from "./store.js";
import { codesOf, damageIn, StoreDamaged, StoreError, StoreFailed } from "./store-errors.js";

export { StoreAbsent, StoreForeign, StoreLocked, StoreNewer } from "./open-errors.js";

/** How to open a data folder. */
export interface OpenDataFolderOptions {
  /** Whether a store is made when the folder is absent or empty. */
  readonly create: boolean;
  /** Default 0. */
  readonly partition?: number;
  /** Whether every LevelDB table is read and checked before the store opens, as `pawl verify` does; default false. */
  readonly checksAllTables?: boolean;
  /** Bytes of the ballast; default `BALLAST_BYTES`. */
  readonly ballastBytes?: number;
  /** Wall clock, ms; read once, for a new store. Default `Date.now`. */
  readonly nowMs?: () => number;
  /** Makes the id of a new store, a lower-case UUID; default a random one. */
  readonly newStoreId?: () => string;
  /** Told of every durable step of making a store, for crash tests; default: nobody. */
  readonly onCreationStep?: (step: CreationStep) => void;
  /** Faults between the store and its caller, for tests; default none. */
  readonly faults?: FaultPlan;
}

/** An open data folder. */
export interface DataFolder {
  readonly directory: string;
  /** True if the store was made by this call. */
  readonly isNew: boolean;
  readonly store: Store;
  /** As read at opening. Writes carry `meta.identity.epoch`. */
  readonly meta: StoreMeta;
  /** 32 bytes: the key of the MACs of positions. Never logged. A folder that lost it gets a new one, and no position given before is known. */
  readonly secret: Uint8Array;
  /** Space that a kernel keeps for bad times; made by `build` only. */
  readonly ballast: Ballast;
  /** Closes the store. */
  close(): Promise<void>;
}

/**
 * Opens a data folder.
 *
 * Errors: `StoreAbsent` (and `create` is false), `StoreForeign`, `StoreNewer`, `StoreLocked`, `StoreDamaged`; `StoreFailed`
 * when the disk itself refuses (full, read-only, no permission).
 */
export async function openDataFolder(
  directory: string,
  options: OpenDataFolderOptions,
): Promise<DataFolder> {
  try {
    return await openOrCreate(directory, options);
  } catch (error) {
    throw await nameError(directory, error);
  }
}

async function openOrCreate(
  directory: string,
  options: OpenDataFolderOptions,
): Promise<DataFolder> {
  const state = await inspectFolder(directory);
  if (state === "store") return openExisting(directory, options, false);
  if (!options.create) throw new StoreAbsent(directory, ABSENCES[state]);
  await createStore(directory, {
    partition: options.partition ?? 0,
    storeId: (options.newStoreId ?? randomUUID)(),
    nowMs: (options.nowMs ?? Date.now)(),
    ...(options.onCreationStep === undefined ? {} : { onStep: options.onCreationStep }),
  });
  return openExisting(directory, options, true);
}

const ABSENCES = {
  absent: "there is no such folder",
  empty: "the folder is empty",
  unfinished: "the making of one there was never finished",
} as const;

async function openExisting(
  directory: string,
  options: OpenDataFolderOptions,
  isNew: boolean,
): Promise<DataFolder> {
  const { partition = 0, faults } = options;
  const file = await readStoreFile(directory);
  const known = await readSecret(directory);
  const database = join(directory, FOLDER.database);
  const failureMark = join(directory, FOLDER.writeFailed);
  await checkLevelFiles(database, {
    tail: existsSync(failureMark) ? "torn" : "strict",
    isWhole: options.checksAllTables ?? false,
  });
  await releaseWhenFull(directory);
  const level = await LevelStore.open({
    directory: database,
    partition,
    onWriteFailure: () => markFailure(directory, failureMark),
  });
  try {
    const meta = readMeta(level, partition);
    requireSameStore(file, meta);
    await verifyHorizon(level, partition, meta);
    level.raiseEpoch(meta.identity.epoch);
    const secret = known ?? (await makeSecret(directory));
    // LevelDB has begun a new log by now; the one that ended in the failure is no longer read.
    await rm(failureMark, { force: true });
    // Left by a second maker that found the store made.
    await rm(join(directory, FOLDER.creating), { force: true });
    const store = faults === undefined ? level : new FaultStore(level, faults);
    const ballast = new FileBallast(directory, options.ballastBytes);
    return { directory, isNew, store, meta, secret, ballast, close: () => store.close() };
  } catch (error) {
    await level.close();
    throw error;
  }
}

function requireSameStore(file: StoreFile, { identity }: StoreMeta): void {
  if (file.storeId === identity.storeId && file.format === identity.format) return;
  throw new StoreDamaged(
    `Expected the database of store ${file.storeId}, format ${file.format}, but it is that of store ` +
      `${identity.storeId}, format ${identity.format}`,
    { file: FOLDER.database },
  );
}

/** Leaves the mark that `checkLevelFiles` goes by. Synchronous: nothing may be told before it is there. */
function markFailure(directory: string, path: string): void {
  try {
    // The mark itself may need the room.
    removeBallast(directory);
    closeSync(openSync(path, "w", 0o600));
    const folder = openSync(directory, "r");
    fsyncSync(folder);
    closeSync(folder);
  } catch {
    // The disk takes not even a name. Without the mark the next open is strict, which is the safe side.
  }
}

/** Gives what LevelDB and the system throw a name of ours. */
async function nameError(directory: string, error: unknown): Promise<StoreError> {
  const damage = damageIn(error);
  if (damage !== undefined) return damage;
  if (error instanceof StoreError) return error;
  const codes = codesOf(error);
  if (codes.includes("LEVEL_LOCKED")) {
    return new StoreLocked(directory, await findLivingKernel(directory), { cause: error });
  }
  if (codes.includes("LEVEL_CORRUPTION")) {
    const place = { file: FOLDER.database };
    return new StoreDamaged("Expected LevelDB to open its files, but it could not", place, {
      cause: error,
    });
  }
  return new StoreFailed("open", error);
}
