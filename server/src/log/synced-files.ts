/** Small files whose bytes and names survive a power cut. */

import { open, rename } from "node:fs/promises";
import { dirname } from "node:path";

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
