import { open, readFile, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { TokenEntry } from "./token-entry.js";
import { formatTokenFile, parseTokenFile, readTokenFile, TokenFileError } from "./token-file.js";

/** How long another editor of the same file is waited for, in ms. */
const lockWaitMs = 5_000;

/**
 * Changes a token file: reads it, lets `edit` say its new entries, and replaces it whole (beside it, synced, renamed; mode 0600), so
 * that a kernel never reads half of it. Its owner stays the same. One editor at a time: a lock file beside it, left behind only by an editor
 * that was killed, and then taken over.
 *
 * @throws TokenFileError as `readTokenFile` does, and when the lock stays.
 */
export async function editTokenFile<T>(
  path: string,
  edit: (entries: readonly TokenEntry[]) => { entries: readonly TokenEntry[]; answer: T },
): Promise<T> {
  const lock = `${path}.lock`;
  await takeLock(lock, path);
  try {
    const { entries, answer } = edit((await readTokenFile(path)) ?? []);
    const content = formatTokenFile(entries);
    // What is written is what can be read: an edit that breaks a rule is refused here, and the file stays.
    parseTokenFile(path, content);
    await replaceFile(path, content);
    return answer;
  } finally {
    await rm(lock, { force: true });
  }
}

async function takeLock(lock: string, path: string): Promise<void> {
  const giveUpAtMs = performance.now() + lockWaitMs;
  while (!(await createLock(lock))) {
    if (performance.now() > giveUpAtMs) {
      throw lockStays(path, lock);
    }
    if (await isLeftBehind(lock)) {
      await removeLeftBehind(lock, path);
    } else {
      await sleep(20);
    }
  }
}

/** False when somebody has it. */
async function createLock(lock: string): Promise<boolean> {
  try {
    const file = await open(lock, "wx", 0o600);
    await file.writeFile(`${process.pid}\n`);
    await file.close();
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") {
      return false;
    }
    throw error;
  }
}

/**
 * Of several that find it left behind, one removes it, and the others must not remove the lock that is taken next. So it is looked at again
 * under a lock of its own; where that stays too, a person has to say that nobody is at work.
 */
async function removeLeftBehind(lock: string, path: string): Promise<void> {
  const takeover = `${lock}.takeover`;
  const giveUpAtMs = performance.now() + lockWaitMs;
  while (!(await createLock(takeover))) {
    if (performance.now() > giveUpAtMs) {
      throw lockStays(path, takeover);
    }
    await sleep(20);
  }
  try {
    if (await isLeftBehind(lock)) {
      await rm(lock, { force: true });
    }
  } finally {
    await rm(takeover, { force: true });
  }
}

function lockStays(path: string, lock: string): TokenFileError {
  const message = `Expected to be the only one that edits ${path}, but ${lock} stays. Remove it if no other pawl token command runs.`;
  return new TokenFileError("PAWL_TOKEN_FILE_LOCKED", path, message);
}

/** True when the process that took the lock is gone. */
async function isLeftBehind(lock: string): Promise<boolean> {
  const pid = Number(await readFile(lock, "utf8").catch(() => ""));
  if (!Number.isSafeInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "ESRCH";
  }
}

/** Whose the file is, when root replaces it: the kernel that reads it may run as somebody else, who could not read one of root's. */
async function ownerToKeep(path: string): Promise<{ uid: number; gid: number } | undefined> {
  if (process.getuid?.() !== 0) {
    return undefined;
  }
  try {
    return await stat(path);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") {
      return undefined;
    }
    throw error;
  }
}

async function replaceFile(path: string, content: string): Promise<void> {
  const beside = `${path}.part`;
  await rm(beside, { force: true });
  const owner = await ownerToKeep(path);
  const file = await open(beside, "wx", 0o600);
  try {
    if (owner !== undefined) {
      await file.chown(owner.uid, owner.gid);
    }
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(beside, path);
  const folder = await open(join(dirname(path), "."), "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
