/**
 * The data folder:
 *
 * ```
 * STORE         id and format, a small JSON text; written last, so a folder without it never served
 * STORE.new     only while a store is being made: says that what lies beside it may be finished or made anew
 * secret        32 random bytes, mode 0600; the key of the MACs of positions
 * db/           LevelDB
 * ballast       random bytes: space that is given back when the disk is nearly full (see ballast.ts)
 * tokens.json   who may do what, with hashed tokens; written by `pawl token`, which may come before the store
 * kernel.json   pid and port of the kernel that has the store open; a hint, never a lock
 * last-check.json  what the last verification or round of the scrubber found; only told, never relied on
 * write-failed  an empty file: the last handle ended in a failed write (see leveldb-log.ts)
 * ```
 */

import { randomBytes } from "node:crypto";
import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { StoreForeign, StoreNewer } from "./open-errors.js";
import { codesOf, StoreDamaged } from "./store-errors.js";
import { writeFileSynced } from "./synced-files.js";

/** The only format that this kernel reads and writes. 0 until the first release. */
export const STORE_FORMAT: number = 0;

/** Bytes of the secret. */
export const SECRET_BYTES: number = 32;

/** Names in the data folder. */
export const FOLDER: {
  readonly store: string;
  readonly creating: string;
  readonly secret: string;
  readonly database: string;
  readonly ballast: string;
  readonly kernel: string;
  readonly writeFailed: string;
  readonly lastCheck: string;
} = {
  store: "STORE",
  creating: "STORE.new",
  secret: "secret",
  database: "db",
  ballast: "ballast",
  kernel: "kernel.json",
  writeFailed: "write-failed",
  lastCheck: "last-check.json",
};

/** What a look at the folder's names says. */
export type FolderState = "absent" | "empty" | "unfinished" | "store";

/** What `STORE` says. */
export interface StoreFile {
  readonly format: number;
  readonly storeId: string;
}

/** The kernel that says it has the store open. */
export interface KernelFile {
  readonly pid: number;
  readonly port?: number;
}

const TOKENS = "tokens.json";

// What may be there before the store: tokens, and what mkfs makes in the root of a fresh file system, a good data folder.
const IGNORED_NAMES = new Set(["lost+found", TOKENS, `${TOKENS}.part`]);

// A lock on the tokens has others beside it while it is made and taken over.
function isIgnored(name: string): boolean {
  return IGNORED_NAMES.has(name) || name.startsWith(`${TOKENS}.lock`);
}

// All that an interrupted creation may leave.
const CREATION_NAMES = new Set([
  FOLDER.creating,
  FOLDER.secret,
  `${FOLDER.secret}.part`,
  `${FOLDER.store}.part`,
  FOLDER.database,
  FOLDER.writeFailed,
]);

/** Looks at the names in a folder. Errors: `StoreForeign` when it holds something else. */
export async function inspectFolder(directory: string): Promise<FolderState> {
  // Else it would be the current folder, which nobody meant who passed a variable that is not set.
  if (directory === "") throw new StoreForeign(directory, "its name is empty");
  const found = await namesIn(directory);
  if (found === undefined) return "absent";
  const names = found.filter((name) => !isIgnored(name));
  if (names.includes(FOLDER.store)) return "store";
  if (names.length === 0) return "empty";
  if (names.includes(FOLDER.creating) && names.every((name) => CREATION_NAMES.has(name))) {
    return "unfinished";
  }
  const foreign = names.filter((name) => !CREATION_NAMES.has(name));
  throw new StoreForeign(
    directory,
    foreign.length === 0
      ? `it holds ${names.join(", ")} without ${FOLDER.store}`
      : `it holds ${listed(foreign)} and no ${FOLDER.store}`,
  );
}

/** Writes `STORE`, the last act of making a store. */
export function writeStoreFile(directory: string, file: StoreFile): Promise<void> {
  const content = { kind: "pawl-store", format: file.format, storeId: file.storeId };
  return writeFileSynced(join(directory, FOLDER.store), `${JSON.stringify(content)}\n`);
}

/** Reads `STORE`. Errors: `StoreDamaged`, `StoreNewer`. */
export async function readStoreFile(directory: string): Promise<StoreFile> {
  const content = await readFile(join(directory, FOLDER.store), "utf8");
  const { kind, format, storeId } = parseObject(content);
  if (kind !== "pawl-store" || typeof format !== "number" || !Number.isSafeInteger(format)) {
    throw storeFileDamaged();
  }
  if (format > STORE_FORMAT) throw new StoreNewer(directory, format, STORE_FORMAT);
  const isStoreId =
    typeof storeId === "string" && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(storeId);
  if (format < 0 || !isStoreId) throw storeFileDamaged();
  return { format, storeId };
}

/** Reads the secret; undefined when there is none. Errors: `StoreDamaged` when it has another length. */
export async function readSecret(directory: string): Promise<Uint8Array | undefined> {
  try {
    const secret = await readFile(join(directory, FOLDER.secret));
    if (secret.byteLength === SECRET_BYTES) return new Uint8Array(secret);
    throw secretDamaged(`it has ${secret.byteLength} bytes`);
  } catch (error) {
    if (codesOf(error).includes("ENOENT")) return undefined;
    throw error;
  }
}

/** Makes the secret. The caller has the store open, or is making it. */
export async function makeSecret(directory: string): Promise<Uint8Array> {
  const secret = new Uint8Array(randomBytes(SECRET_BYTES));
  await writeFileSynced(join(directory, FOLDER.secret), secret, 0o600);
  return secret;
}

/** Writes the hint that this kernel has the store open. The caller has it open. */
export function writeKernelFile(directory: string, file: KernelFile): Promise<void> {
  return writeFileSynced(join(directory, FOLDER.kernel), `${JSON.stringify(file)}\n`);
}

/** Removes the hint; an absent one is fine. */
export function removeKernelFile(directory: string): Promise<void> {
  return rm(join(directory, FOLDER.kernel), { force: true });
}

/** The living kernel that the hint names; undefined without a hint, or with a stale or unreadable one. */
export async function findLivingKernel(directory: string): Promise<KernelFile | undefined> {
  const content = await readFile(join(directory, FOLDER.kernel), "utf8").catch(() => "");
  const { pid, port } = parseObject(content);
  if (typeof pid !== "number" || !Number.isSafeInteger(pid) || pid <= 0 || !isAlive(pid)) {
    return undefined;
  }
  return typeof port === "number" ? { pid, port } : { pid };
}

async function namesIn(directory: string): Promise<string[] | undefined> {
  try {
    return await readdir(directory);
  } catch (error) {
    const codes = codesOf(error);
    if (codes.includes("ENOENT")) return undefined;
    if (codes.includes("ENOTDIR")) throw notAFolder(directory, error);
    throw error;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // It is there, but another user's.
    return codesOf(error).includes("EPERM");
  }
}

/** The fields of a JSON object; none if the text is anything else. */
function parseObject(content: string): Readonly<Partial<Record<string, unknown>>> {
  try {
    const parsed: unknown = JSON.parse(content);
    return typeof parsed === "object" && parsed !== null ? { ...parsed } : {};
  } catch {
    return {};
  }
}

function notAFolder(directory: string, cause: unknown): StoreForeign {
  return new StoreForeign(directory, "it is not a folder", { cause });
}

function storeFileDamaged(): StoreDamaged {
  return new StoreDamaged("Expected the id and format of the store, but found other text", {
    file: FOLDER.store,
  });
}

function secretDamaged(found: string): StoreDamaged {
  return new StoreDamaged(`Expected the store's secret of ${SECRET_BYTES} bytes, but ${found}`, {
    file: FOLDER.secret,
  });
}

function listed(names: readonly string[]): string {
  const shown = names.slice(0, 3).map((name) => `"${name}"`);
  const more = names.length - shown.length;
  return more === 0 ? shown.join(", ") : `${shown.join(", ")} and ${more} more`;
}
