import { open, readFile, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { TokenEntry } from "./token-entry.js";
import { formatTokenFile, parseTokenFile, readTokenFile, TokenFileError } from "./token-file.js";

/** How long another editor of the same file is waited for, in ms. */
const lockWaitMs = 5_000;

/**
 * Changes a token file: reads it, lets `edit` say its new entries, and replaces it whole (beside it, synced, renamed; mode 0600), so
 * that a kernel never reads half of it. One editor at a time: a lock file beside it, left behind only by an editor that was killed.
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
  for (;;) {
    try {
      const file = await open(lock, "wx", 0o600);
      await file.writeFile(`${process.pid}\n`);
      await file.close();
      return;
    } catch (cause) {
      if (!(cause instanceof Error && "code" in cause && cause.code === "EEXIST")) throw cause;
      if (performance.now() > giveUpAtMs) {
        throw lockStays(path, lock, cause);
      }
      if (await isLeftBehind(lock)) {
        await rm(lock, { force: true });
      } else {
        await sleep(20);
      }
    }
  }
}

function lockStays(path: string, lock: string, cause: unknown): TokenFileError {
  const message = `Expected to be the only one that edits ${path}, but ${lock} stays. Remove it if no other pawl token command runs.`;
  return new TokenFileError("PAWL_TOKEN_FILE_LOCKED", path, message, { cause });
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

async function replaceFile(path: string, content: string): Promise<void> {
  const beside = `${path}.part`;
  await rm(beside, { force: true });
  const file = await open(beside, "wx", 0o600);
  try {
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
