import type { Stats } from "node:fs";
import { open, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type EditLock, takeEditLock } from "./edit-lock.js";
import type { TokenEntry } from "./token-entry.js";
import {
  formatTokenFile,
  parseTokenFile,
  readTokenFile,
  stampOf,
  TokenFileError,
} from "./token-file.js";

/** What an edit says. */
export interface TokenEdit<T> {
  readonly entries: readonly TokenEntry[];
  readonly answer: T;
}

/** How often an edit is begun again because the file changed under it. */
const attemptsMax = 20;

/**
 * Changes a token file: reads it, lets `edit` say its new entries, and replaces it whole (beside it, synced, renamed), so that a kernel
 * never reads half of it. Owner, group and mode stay; a new file has mode 0600. One editor at a time: a lock file beside it, which is taken over
 * from an editor that was killed. An edit under which the file changed all the same is made again on what is there now, so `edit` may be
 * called several times.
 *
 * @throws TokenFileError as `readTokenFile` does, and when the lock stays or the owner cannot be kept.
 */
export async function editTokenFile<T>(
  path: string,
  edit: (entries: readonly TokenEntry[]) => TokenEdit<T>,
): Promise<T> {
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    const lock = await takeEditLock(`${path}.lock`);
    if (lock === undefined) break;
    try {
      const done = await editLocked(path, edit, lock);
      if (done !== undefined) return done.answer;
    } finally {
      await lock.release();
    }
  }
  throw lockStays(path);
}

/** Undefined when somebody else changed the file, or took the lock, meanwhile. */
async function editLocked<T>(
  path: string,
  edit: (entries: readonly TokenEntry[]) => TokenEdit<T>,
  lock: EditLock,
): Promise<TokenEdit<T> | undefined> {
  // From before the reading: what changes meanwhile is seen.
  const stamp = await stampOf(path);
  const done = edit((await readTokenFile(path)) ?? []);
  const content = formatTokenFile(done.entries);
  // What is written is what can be read: an edit that breaks a rule is refused here, and the file stays.
  parseTokenFile(path, content);
  const beside = `${path}.part`;
  await rm(beside, { force: true });
  await writeBeside(path, beside, content);
  if ((await stampOf(path)) !== stamp || !(await lock.isHeld())) {
    return undefined;
  }
  await rename(beside, path);
  await syncFolder(dirname(path));
  return done;
}

function lockStays(path: string): TokenFileError {
  const lock = `${path}.lock`;
  const message = `Expected to be the only one that edits ${path}, but ${lock} stays. Give the command again: a lock that is a minute old is taken over.`;
  return new TokenFileError("PAWL_TOKEN_FILE_LOCKED", path, message);
}

/** The kernel that reads the file may run as somebody else, or by the file's group: whoever could read it still can. */
async function writeBeside(path: string, beside: string, content: string): Promise<void> {
  const before = await statOrNothing(path);
  const file = await open(beside, "wx", 0o600);
  try {
    if (before !== undefined) {
      const made = await file.stat();
      if (made.uid !== before.uid || made.gid !== before.gid) {
        await file.chown(before.uid, before.gid).catch((cause: unknown) => {
          throw ownerDiffers(path, cause);
        });
      }
      await file.chmod(before.mode & 0o777);
    }
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
}

function ownerDiffers(path: string, cause: unknown): TokenFileError {
  const message = `Expected to keep the owner and group of ${path}, but this user may not set them. Run the command as the file's owner, or as root.`;
  return new TokenFileError("PAWL_TOKEN_FILE_OWNER", path, message, { cause });
}

async function statOrNothing(path: string): Promise<Stats | undefined> {
  try {
    return await stat(path);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") {
      return undefined;
    }
    throw error;
  }
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(join(path, "."), "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
