import { createHash, randomBytes } from "node:crypto";
import { link, open, readFile, rm, stat, writeFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";

/** How long another editor of the same file is waited for, in ms. */
const waitMs = 5_000;

/** An edit takes milliseconds. A lock that is older than this was left, whatever process bears its number now; in ms. */
export const lockAgeMsMax: number = 60_000;

/** A lock file that this process holds. */
export interface EditLock {
  /** False once somebody took it for left behind, as may happen to a process that stood still for long. */
  isHeld(): Promise<boolean>;
  /** Removes it, if it is still held. */
  release(): Promise<void>;
}

/**
 * Takes a lock file: it names the process, and appears whole or not at all. One that was left by a process which is gone, or that is older
 * than `lockAgeMsMax`, is taken over.
 *
 * @returns undefined when somebody else holds it for too long.
 */
export async function takeEditLock(path: string): Promise<EditLock | undefined> {
  const content = `${process.pid}\n${randomBytes(16).toString("hex")}\n`;
  const giveUpAtMs = performance.now() + waitMs;
  while (!(await createWhole(path, content))) {
    if (performance.now() > giveUpAtMs) return undefined;
    if (!(await removeLeft(path))) await sleep(20);
  }
  const isHeld = async (): Promise<boolean> => (await readOrNothing(path)) === content;
  return {
    isHeld,
    release: async () => {
      if (await isHeld()) await rm(path, { force: true });
    },
  };
}

/** False when there is such a file already. */
async function createWhole(path: string, content: string): Promise<boolean> {
  const beside = `${path}.${randomBytes(6).toString("hex")}`;
  try {
    const file = await open(beside, "wx", 0o600);
    await file.writeFile(content);
    await file.close();
    await link(beside, path).catch((error: unknown) => {
      if (!withoutLinks.has(codeOf(error))) throw error;
      return writeFile(path, content, { flag: "wx", mode: 0o600 });
    });
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    throw error;
  } finally {
    await rm(beside, { force: true });
  }
}

/** What file systems say that have no hard links; there a lock may be seen empty, and then only its age counts. */
const withoutLinks: ReadonlySet<unknown> = new Set(["EPERM", "ENOTSUP", "ENOSYS", "EMLINK"]);

/**
 * Removes a lock that was left. Of several that find it so, one alone may: the one that makes the file which is named after this very lock. So
 * nobody removes the lock that is taken next. That file may be left as well, and is then removed in the same way.
 *
 * @returns false when the lock is somebody's.
 */
async function removeLeft(path: string): Promise<boolean> {
  const left = await readOrNothing(path);
  if (left === undefined) return true;
  if (!(await isLeft(path, left))) return false;
  const claim = `${path}.${createHash("sha256").update(left).digest("hex").slice(0, 12)}.gone`;
  if (!(await createWhole(claim, `${process.pid}\n${randomBytes(16).toString("hex")}\n`))) {
    return await removeLeft(claim);
  }
  try {
    if ((await readOrNothing(path)) === left) await rm(path, { force: true });
  } finally {
    await rm(claim, { force: true });
  }
  return true;
}

/** True when the process that made it is gone, or it is too old for an edit that is under way. */
async function isLeft(path: string, content: string): Promise<boolean> {
  const pid = Number(content.split("\n", 1)[0]);
  if (Number.isSafeInteger(pid) && pid > 0 && isGone(pid)) return true;
  const made = await stat(path).catch(() => undefined);
  return made !== undefined && Date.now() - made.mtimeMs > lockAgeMsMax;
}

function isGone(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return codeOf(error) === "ESRCH";
  }
}

async function readOrNothing(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined;
}
