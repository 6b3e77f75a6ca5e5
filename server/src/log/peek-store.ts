import { copyFile, mkdtemp, readdir, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { FOLDER } from "./data-folder.js";
import { LevelStore } from "./level-store.js";
import type { Store } from "./store.js";

/** What may be done with a store that is only looked at. */
export type PeekedStore = Pick<Store, "get">;

/**
 * Looks at rows of a store that no process has open, and writes nothing into its folder, which LevelDB's own opening would: LevelDB is
 * given a scratch folder elsewhere, with links to the tables, which never change, and copies of all else. Its files must have been checked
 * (`checkLevelFiles`). Errors: those of LevelDB and of `read`.
 */
export async function peekStore<T>(directory: string, read: (store: PeekedStore) => T): Promise<T> {
  const database = resolve(directory, FOLDER.database);
  const scratch = await mkdtemp(join(tmpdir(), "pawl-look-"));
  try {
    for (const name of await readdir(database)) {
      const isTable = name.endsWith(".ldb") || name.endsWith(".sst");
      if (isTable) {
        await symlink(join(database, name), join(scratch, name));
      } else if (name !== "LOCK" && !name.startsWith("LOG")) {
        await copyFile(join(database, name), join(scratch, name));
      }
    }
    const store = await LevelStore.open({ directory: scratch });
    try {
      return read(store);
    } finally {
      await store.close();
    }
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}
