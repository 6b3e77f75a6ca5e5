/**
 * Looks at LevelDB's files before LevelDB does. Reads only. LevelDB's own opening writes (a new MANIFEST, a table of
 * what the log held) and removes what it takes for old, so a database that is not whole must not reach it.
 *
 * What is checked: CURRENT names a MANIFEST; the MANIFEST is sound; every table that it names is there with its length
 * and its end mark; the log that it goes on with is there; all logs from that one on are sound. Not checked: the
 * inside of tables, which every read of ours verifies by the crc or hash of the value.
 */

import { open, readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { FOLDER } from "./data-folder.js";
import { type LogTail, readLevelLog } from "./leveldb-log.js";
import { type LevelManifest, readManifest } from "./leveldb-manifest.js";
import { codesOf, StoreDamaged } from "./store-errors.js";

/** The last 8 bytes of every table. */
const TABLE_MAGIC = "57fb808b247547db";
const TABLE_MAGIC_BYTES = 8;

/** How often a database that changes under our eyes is looked at. */
const LOOKS_MAX = 3;

/**
 * Checks the database in `directory` (a data folder's `db/`). `tail` says how the last handle ended. Errors:
 * `StoreDamaged` naming the file.
 *
 * Another process may have the database open; its files may then seem damaged, since they change while they are read.
 * Such a database is looked at again, and in the end left to LevelDB's lock to refuse.
 */
export async function checkLevelFiles(directory: string, tail: LogTail): Promise<void> {
  let before = await listFiles(directory);
  for (let looks = 1; ; looks += 1) {
    try {
      return await checkOnce(directory, tail);
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

async function checkOnce(directory: string, tail: LogTail): Promise<void> {
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
  await checkTables(directory, names, manifest);
  await checkLogs(directory, names, { manifest, tail });
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
  manifest: LevelManifest,
): Promise<void> {
  for (const [number, byteLength] of manifest.tables) {
    const digits = String(number).padStart(6, "0");
    const name = [`${digits}.ldb`, `${digits}.sst`].find((candidate) => names.has(candidate));
    if (name === undefined) throw damaged(`${digits}.ldb`, "it is missing");
    const file = await open(join(directory, name), "r");
    try {
      const { size } = await file.stat();
      if (size !== byteLength) throw damaged(name, `it has ${size} bytes, not ${byteLength}`);
      const end = Buffer.alloc(TABLE_MAGIC_BYTES);
      await file.read(end, 0, TABLE_MAGIC_BYTES, size - TABLE_MAGIC_BYTES);
      if (end.toString("hex") !== TABLE_MAGIC) throw damaged(name, "it does not end as a table");
    } finally {
      await file.close();
    }
  }
}

async function checkLogs(
  directory: string,
  names: ReadonlySet<string>,
  { manifest, tail }: { readonly manifest: LevelManifest; readonly tail: LogTail },
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
