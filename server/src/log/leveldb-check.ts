/**
 * Looks at LevelDB's files before LevelDB does. Reads only. LevelDB's own opening writes (a new MANIFEST, a table of
 * what the log held) and removes what it takes for old, so a database that is not whole must not reach it.
 *
 * What is checked: CURRENT names a MANIFEST; the MANIFEST is sound; every table that it names is there with its length;
 * the log that it goes on with is there; all logs from that one on are sound; and the newest tables, or all, block by
 * block. Of older tables, what is read of them is verified by the crc or hash of the value.
 */

import { open, readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { FOLDER } from "./data-folder.js";
import { type LogTail, readLevelLog } from "./leveldb-log.js";
import { type LevelManifest, readManifest } from "./leveldb-manifest.js";
import { findTableDamage, TABLE_MAGIC } from "./leveldb-table.js";
import { codesOf, StoreDamaged } from "./store-errors.js";

/** How thoroughly to look. */
export interface LevelCheck {
  /** How the last handle ended. */
  readonly tail: LogTail;
  /** Whether every table is read whole, however many there are; default false. */
  readonly isWhole?: boolean;
}

/**
 * Tables are read whole at every opening up to so many bytes in all (well under 0.1 s of CPU); of older ones, only
 * length and end mark.
 */
const WHOLE_TABLES_BYTES_MAX = 64 * 1024 * 1024;

/** How often a database that changes under our eyes is looked at. */
const LOOKS_MAX = 3;

/**
 * Checks the database in `directory` (a data folder's `db/`). Errors: `StoreDamaged` naming the file.
 *
 * Another process may have the database open; its files may then seem damaged, since they change while they are read.
 * Such a database is looked at again, and in the end left to LevelDB's lock to refuse.
 */
export async function checkLevelFiles(directory: string, check: LevelCheck): Promise<void> {
  let before = await listFiles(directory);
  for (let looks = 1; ; looks += 1) {
    try {
      return await checkOnce(directory, check);
    } catch (error) {
      const after = await listFiles(directory);
      if (after === before) throw error;
      if (looks === LOOKS_MAX) return;
      before = after;
    }
  }
}

/** Names and lengths of all files: different whenever LevelDB has written. */
async function listFiles(directory: string): Promise<string> {
  const names = await readdir(directory).catch(nothingThere);
  const sizes = names.map(async (name) => {
    // Removed since it was listed: that is a change as well.
    const { size } = await stat(join(directory, name)).catch(() => ({ size: -1 }));
    return `${name}:${size}`;
  });
  return (await Promise.all(sizes)).join();
}

async function checkOnce(directory: string, check: LevelCheck): Promise<void> {
  const names = new Set(await readdir(directory).catch(nothingThere));
  const manifestName = await readCurrent(directory);
  if (!names.has(manifestName)) throw damaged(manifestName, "it is missing");
  const { records, damagedAt } = readLevelLog(await readFile(join(directory, manifestName)), {
    tail: "strict",
    keepRecords: true,
  });
  if (damagedAt !== undefined) throw damaged(manifestName, `byte ${damagedAt} is not as written`);
  const manifest = readManifest(records);
  if (manifest === undefined) throw damaged(manifestName, "a record is none of LevelDB's");
  await checkTables(directory, names, { ...check, manifest });
  await checkLogs(directory, names, { ...check, manifest });
}

async function readCurrent(directory: string): Promise<string> {
  const content = await readFile(join(directory, "CURRENT"), "latin1").catch((error: unknown) => {
    if (codesOf(error).includes("ENOENT")) throw damaged("CURRENT", "it is missing", error);
    throw error;
  });
  if (/^MANIFEST-[0-9]+\n$/.test(content)) return content.trimEnd();
  throw damaged("CURRENT", content === "" ? "it is empty" : "it names no MANIFEST");
}

async function checkTables(
  directory: string,
  names: ReadonlySet<string>,
  { manifest, isWhole }: LevelCheck & { readonly manifest: LevelManifest },
): Promise<void> {
  let bytesLeft = isWhole === true ? Number.MAX_SAFE_INTEGER : WHOLE_TABLES_BYTES_MAX;
  // The newest first: they hold what was written last, and what was never read since.
  for (const [number, byteLength] of [...manifest.tables].sort(([a], [b]) => b - a)) {
    const digits = String(number).padStart(6, "0");
    const name = [`${digits}.ldb`, `${digits}.sst`].find((candidate) => names.has(candidate));
    if (name === undefined) throw damaged(`${digits}.ldb`, "it is missing");
    bytesLeft -= byteLength;
    await checkTable(join(directory, name), { name, byteLength, isWhole: bytesLeft >= 0 });
  }
}

interface TableCheck {
  readonly name: string;
  readonly byteLength: number;
  /** Whether every block is checked, or only the length and the end. */
  readonly isWhole: boolean;
}

async function checkTable(path: string, { name, byteLength, isWhole }: TableCheck): Promise<void> {
  const file = await open(path, "r");
  try {
    const { size } = await file.stat();
    if (size !== byteLength) throw damaged(name, `it has ${size} bytes, not ${byteLength}`);
    if (isWhole) {
      const damagedAt = findTableDamage(await file.readFile());
      if (damagedAt !== undefined) throw damaged(name, `byte ${damagedAt} is not as written`);
      return;
    }
    const end = Buffer.alloc(8);
    await file.read(end, 0, 8, size - 8);
    if (end.toString("hex") !== TABLE_MAGIC) throw damaged(name, "it does not end as a table");
  } finally {
    await file.close();
  }
}

async function checkLogs(
  directory: string,
  names: ReadonlySet<string>,
  { manifest, tail }: LevelCheck & { readonly manifest: LevelManifest },
): Promise<void> {
  const numbers = [...names]
    .flatMap((name) => /^([0-9]+)\.log$/.exec(name)?.[1] ?? [])
    .filter((digits) => Number(digits) >= manifest.logNumber)
    .sort((a, b) => Number(a) - Number(b));
  // LevelDB does not miss it: a MANIFEST cut back to an older state names a log that is long gone.
  if (manifest.logNumber > 0 && Number(numbers[0]) !== manifest.logNumber) {
    throw damaged(`${String(manifest.logNumber).padStart(6, "0")}.log`, "it is missing");
  }
  for (const digits of numbers) {
    const name = `${digits}.log`;
    const { damagedAt } = readLevelLog(await readFile(join(directory, name)), {
      tail: digits === numbers.at(-1) ? tail : "strict",
    });
    if (damagedAt !== undefined) throw damaged(name, `byte ${damagedAt} is not as written`);
  }
}

function nothingThere(error: unknown): string[] {
  if (codesOf(error).includes("ENOENT"))
    throw damaged("CURRENT", "the whole folder is missing", error);
  throw error;
}

function damaged(name: string, found: string, cause?: unknown): StoreDamaged {
  const options = cause === undefined ? undefined : { cause };
  return new StoreDamaged(
    `Expected a whole database, but of ${name}: ${found}`,
    { file: `${FOLDER.database}/${name}` },
    options,
  );
}
