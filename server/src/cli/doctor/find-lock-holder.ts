import { stat } from "node:fs/promises";

/**
 * The process that holds the lock on a file, by what Linux lists in `/proc/locks`; undefined when there is none, or elsewhere.
 *
 * @param locks content of `/proc/locks`.
 */
export async function findLockHolder(path: string, locks: string): Promise<number | undefined> {
  const file = await stat(path).catch(() => undefined);
  if (file === undefined) return undefined;
  for (const line of locks.split("\n")) {
    const [, kind, , , pid, place] = line.trim().split(/\s+/);
    // major:minor:inode; devices of some file systems are numbered otherwise than by stat, so the inode decides.
    const inode = place?.split(":")[2];
    if (kind === "POSIX" && Number(inode) === file.ino && Number(pid) > 0) return Number(pid);
  }
  return undefined;
}
