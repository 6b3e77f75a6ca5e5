/**
 * Makes a new store: the database with its meta rows, written, closed, opened again and verified; then the secret;
 * `STORE` last. It may be killed anywhere: what it left is finished, or made anew, by the next one. LevelDB's lock keeps
 * two of them apart.
 */

import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { FOLDER, inspectFolder, makeSecret, STORE_FORMAT, writeStoreFile } from "./data-folder.js";
import { LevelStore } from "./level-store.js";
import { genesisPuts, hasIdentity, readMeta, type StoreIdentity } from "./meta.js";
import { codesOf, StoreDamaged } from "./store-errors.js";
import { makeFolderSynced, syncDirectory, touchSynced } from "./synced-files.js";

/** What a new store is given. */
export interface GenesisOptions {
  readonly partition: number;
  /** A lower-case UUID that no other store has. */
  readonly storeId: string;
  /** Wall clock, ms. */
  readonly nowMs: number;
  /** Told of every durable step, so that a crash test may end the process there; default: nobody. */
  readonly onStep?: (step: CreationStep) => void;
}

/** What is durable: the mark that a store is being made, its first rows, its secret, its `STORE` file. */
export type CreationStep = "marked" | "rows" | "secret" | "stored";

/** The first epoch of a store. */
const FIRST_EPOCH = 1;

/**
 * Makes a store in a folder that is absent, empty, or was left by an earlier try. Errors: LevelDB's own, with code
 * LEVEL_LOCKED when another process is making one there; `StoreDamaged` when what was written does not come back.
 */
export async function createStore(directory: string, options: GenesisOptions): Promise<void> {
  await makeFolderSynced(directory);
  await touchSynced(join(directory, FOLDER.creating));
  options.onStep?.("marked");
  const database = join(directory, FOLDER.database);
  await writeGenesis(database, options);
  await syncDirectory(directory);
  options.onStep?.("rows");
  // From here on the lock is held to the end, so that one process alone writes what follows.
  const store = await LevelStore.open({ directory: database, partition: options.partition });
  try {
    const { identity } = readMeta(store, options.partition);
    if ((await inspectFolder(directory)) !== "store") await finish(directory, identity, options);
    await rm(join(directory, FOLDER.creating), { force: true });
    await syncDirectory(directory);
  } finally {
    await store.close();
  }
}

/** Writes the first rows, unless an earlier try did, and closes. */
async function writeGenesis(database: string, options: GenesisOptions): Promise<void> {
  const store = await openNew(database);
  try {
    if (hasIdentity(store, options.partition)) return;
    const identity: StoreIdentity = {
      format: STORE_FORMAT,
      storeId: options.storeId,
      epoch: FIRST_EPOCH,
      createdAtMs: options.nowMs,
    };
    const puts = genesisPuts(options.partition, identity);
    await store.putRows({ puts, deletes: [], ranges: [] }, { epoch: FIRST_EPOCH });
  } finally {
    await store.close();
  }
}

/** Opens the database of a store that never served; one that a power cut left unreadable is made anew. */
async function openNew(database: string): Promise<LevelStore> {
  await makeFolderSynced(database);
  const isFirst = (await readdir(database)).length === 0;
  try {
    return await LevelStore.open({ directory: database, create: true });
  } catch (error) {
    if (isFirst || !codesOf(error).includes("LEVEL_CORRUPTION")) throw error;
    await rm(database, { recursive: true });
    return LevelStore.open({ directory: database, create: true });
  }
}

async function finish(
  directory: string,
  identity: StoreIdentity,
  { onStep }: GenesisOptions,
): Promise<void> {
  if (identity.format !== STORE_FORMAT) {
    throw new StoreDamaged("Expected the format that was just written, but read another one");
  }
  await makeSecret(directory);
  onStep?.("secret");
  await writeStoreFile(directory, identity);
  onStep?.("stored");
}
