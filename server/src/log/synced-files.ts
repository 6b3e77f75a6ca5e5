/** Small files whose bytes and names survive a power cut. */

import { mkdir, open, rename } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { codesOf } from "./store-errors.js";

/**
 * Writes a file whole or not at all: beside it, synced, then renamed, then the folder synced. `mode` is what the file
 * may be used for (default 0600), less the umask.
 */
export async function writeFileSynced(
  path: string,
  content: string | Uint8Array,
  mode: number = 0o600,
): Promise<void> {
  const beside = `${path}.part`;
  const file = await open(beside, "w", mode);
  try {
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(beside, path);
  await syncDirectory(dirname(path));
}

/**
 * Makes a folder for its owner alone, and those above it that are missing; each name is durable. Node's own `recursive` syncs none of
 * them, and never ends where a file system says of a folder that is there that it is not (`/proc`, some network mounts).
 */
export async function makeFolderSynced(path: string): Promise<void> {
  const folder = resolve(path);
  try {
    await makeFolder(folder);
  } catch (error) {
    if (!codesOf(error).includes("ENOENT") || dirname(folder) === folder) throw error;
    await makeFolderSynced(dirname(folder));
    await makeFolder(folder);
  }
  await syncDirectory(dirname(folder));
}

async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { mode: 0o700 });
  } catch (error) {
    if (!codesOf(error).includes("EEXIST")) throw error; // What is there and no folder is told by who reads it.
  }
}

/** Makes an empty file, unless there is one; two may do it at once. Its folder is not synced. */
export async function touchSynced(path: string): Promise<void> {
  const file = await open(path, "a", 0o600);
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Makes the names in a folder durable. */
export async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, "r");
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
