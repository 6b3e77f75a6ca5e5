import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { FOLDER } from "./data-folder.js";
import { writeFileSynced } from "./synced-files.js";

/** What the last reading of all that is stored found. It is told to people; nothing relies on it. */
export interface LastCheck {
  /** Who read: `pawl verify`, or the scrubber of a kernel that served. */
  readonly by: "verify" | "scrub";
  /** When it ended, ms. */
  readonly atMs: number;
  /** Places that are not as written. */
  readonly problems: number;
}

/** Keeps it in the data folder. Errors: the disk's own. */
export function writeLastCheck(
  directory: string,
  { by, atMs, problems }: LastCheck,
): Promise<void> {
  const content = { by, at: new Date(atMs).toISOString(), problems };
  return writeFileSynced(join(directory, FOLDER.lastCheck), `${JSON.stringify(content)}\n`, 0o600);
}

/** What was kept; undefined when nothing was, or it cannot be read. */
export async function readLastCheck(directory: string): Promise<LastCheck | undefined> {
  const content = await readFile(join(directory, FOLDER.lastCheck), "utf8").catch(() => "");
  try {
    const { by, at, problems }: Readonly<Partial<Record<string, unknown>>> = JSON.parse(content);
    const atMs = typeof at === "string" ? Date.parse(at) : Number.NaN;
    const isKnown = by === "verify" || by === "scrub";
    return isKnown && Number.isFinite(atMs) && typeof problems === "number"
      ? { by, atMs, problems }
      : undefined;
  } catch {
    return undefined;
  }
}
