import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { Level } from "level";
import { TicketError } from "./ticket-error.js";

/** The hold of one process on its folder. Ends with the process, however it dies. */
export interface FolderLock {
  release(): Promise<void>;
}

const retryMs = 50;

/**
 * Makes this process the only one that writes books in `dir`. Two writers would each believe a key
 * unused. Waits up to `waitMs` for an earlier process that is still ending (its parent may have been
 * killed a moment ago), then throws `TICKET_FOLDER_IN_USE`.
 *
 * The lock is the one of an empty LevelDB: Node has no file locks, and a file with a process id in it
 * outlives a SIGKILL.
 */
export async function lockFolder(dir: string, waitMs: number): Promise<FolderLock> {
  await mkdir(dir, { recursive: true });
  const deadlineMs = performance.now() + waitMs;
  for (;;) {
    const level = new Level(join(dir, "lock"));
    try {
      await level.open();
      return { release: () => level.close() };
    } catch (error) {
      if (!isLocked(error)) throw error;
      if (performance.now() >= deadlineMs) throw folderInUse(dir, error);
    }
    await delay(retryMs);
  }
}

function isLocked(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof Error && "code" in cause && cause.code === "LEVEL_LOCKED";
}

function folderInUse(dir: string, cause: unknown): TicketError {
  return new TicketError(
    `expected ${dir} to be free, but another ticket service keeps its books there; ` +
      "end that one or start with another --dir",
    { code: "TICKET_FOLDER_IN_USE", status: 500, details: { dir }, cause },
  );
}
