import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findTableDamage } from "@pawl/server/log/leveldb-table.js";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  cutTo,
  damageCopies,
  flipBit,
  type Inspection,
  inspectFolders,
  makeFolder,
} from "./support/damage.js";

/** Bits turned in each file; enough to meet every part of it. */
const FLIPS = 60;

let parent = "";
let whole = "";
let wholeDigest: string | undefined;

beforeAll(async () => {
  parent = await mkdtemp(join(tmpdir(), "pawl-damage-"));
  whole = join(parent, "whole");
  await makeFolder(whole);
  const [copy = ""] = await damageCopies(whole, join(parent, "copy"), [async () => undefined]);
  const [found] = await inspectFolders([copy]);
  expect(found?.verdict).toBe("served");
  wholeDigest = found?.digest;
});
afterAll(() => rm(parent, { recursive: true }));

/** The largest file of a kind in the folder. */
async function fileLike(pattern: RegExp, folder = whole): Promise<string> {
  const names = (await readdir(folder, { recursive: true })).filter((each) => pattern.test(each));
  const sizes = await Promise.all(names.map(async (each) => (await stat(join(folder, each))).size));
  const name = names[sizes.indexOf(Math.max(...sizes))];
  if (name === undefined) throw new Error(`no file like ${pattern}`);
  return name;
}

async function inspectChanged(
  label: string,
  changes: readonly ((copy: string) => Promise<void>)[],
): Promise<readonly Inspection[]> {
  const copies = join(parent, label);
  const found = await inspectFolders(await damageCopies(whole, copies, changes));
  await rm(copies, { recursive: true });
  return found;
}

/** Refused by name, or all that was written is there. Never another value, never a hole. */
function expectRefusedOrHarmless(found: readonly Inspection[], codes: readonly string[]): void {
  for (const inspection of found) {
    const { verdict, code, digest, first } = inspection;
    const isNamed = first?.firstBadSequence !== undefined || first?.key !== undefined;
    const isRight =
      (verdict === "refused" && codes.includes(code ?? "")) ||
      (verdict === "problems" && isNamed) ||
      (verdict === "served" && digest === wholeDigest);
    expect(isRight, JSON.stringify(inspection)).toBe(true);
  }
}

describe("one flipped bit", () => {
  test.each([
    ["a LevelDB log", /^db\/\d+\.log$/, ["PAWL_STORE_DAMAGED"]],
    ["a LevelDB table", /^db\/\d+\.ldb$/, ["PAWL_STORE_DAMAGED"]],
    ["the MANIFEST", /^db\/MANIFEST-\d+$/, ["PAWL_STORE_DAMAGED"]],
    ["CURRENT", /^db\/CURRENT$/, ["PAWL_STORE_DAMAGED"]],
    ["LevelDB's own diary", /^db\/LOG$/, []],
    ["STORE", /^STORE$/, ["PAWL_STORE_DAMAGED", "PAWL_STORE_NEWER"]],
  ] as const)("in %s is refused by name, or harmless", async (label, pattern, codes) => {
    const name = await fileLike(pattern);
    const { size } = await stat(join(whole, name));
    const seed = Date.now() & 0x7fffffff;
    const bits = fc.sample(fc.integer({ min: 0, max: size * 8 - 1 }), { numRuns: FLIPS, seed });
    // The last record is what a careless reader takes for a torn end.
    const last = [8, 9, 100, 200].map((back) => size * 8 - back);
    const changes = [...bits, ...last].map(
      (bit) => (copy: string) => flipBit(join(copy, name), bit),
    );
    const found = await inspectChanged(`flip in ${label}`, changes);
    try {
      expectRefusedOrHarmless(found, codes);
    } catch (error) {
      throw new Error(`seed ${seed}`, { cause: error });
    }
  });

  test("in the secret cannot be seen here, and changes no stored value", async () => {
    const [found] = await inspectChanged("flip in secret", [
      (copy) => flipBit(join(copy, "secret"), 9),
    ]);
    expect(found).toMatchObject({ verdict: "served", digest: wholeDigest });
  });
});

describe("a database that is not whole is refused, and nothing is changed:", () => {
  test.each([
    ["CURRENT missing", async (copy: string) => rm(join(copy, "db/CURRENT")), "db/CURRENT"],
    [
      "CURRENT empty",
      async (copy: string) => writeFile(join(copy, "db/CURRENT"), ""),
      "db/CURRENT",
    ],
    [
      "CURRENT of NULs",
      async (copy: string) => writeFile(join(copy, "db/CURRENT"), Buffer.alloc(16)),
      "db/CURRENT",
    ],
    [
      "CURRENT naming a MANIFEST that is not there",
      async (copy: string) => writeFile(join(copy, "db/CURRENT"), "MANIFEST-999999\n"),
      "db/MANIFEST-999999",
    ],
    ["the table missing", async (copy: string) => removeLike(copy, /\.ldb$/), ".ldb"],
    ["the table cut", async (copy: string) => cutLike(copy, /\.ldb$/, 0.5), ".ldb"],
    ["the log missing", async (copy: string) => removeLike(copy, /\.log$/), ".log"],
    ["the MANIFEST missing", async (copy: string) => removeLike(copy, /MANIFEST/), "MANIFEST"],
    [
      "the database missing",
      async (copy: string) => rm(join(copy, "db"), { recursive: true }),
      "db",
    ],
    ["4 KiB of the log zero", async (copy: string) => zeroLike(copy, /\.log$/, 8_192), ".log"],
    ["4 KiB of the table zero", async (copy: string) => zeroLike(copy, /\.ldb$/, 8_192), ".ldb"],
  ])("%s", async (_what, change, file) => {
    const [copy = ""] = await damageCopies(whole, join(parent, "broken"), [change]);
    const before = await contentOf(copy);
    const [found] = await inspectFolders([copy]);
    expect(found).toMatchObject({ verdict: "refused", code: "PAWL_STORE_DAMAGED" });
    expect(found?.message).toContain(file);
    expect(await contentOf(copy)).toEqual(before);
    await rm(join(parent, "broken"), { recursive: true });
  });

  test("the MANIFEST cut anywhere", async () => {
    const name = await fileLike(/^db\/MANIFEST-\d+$/);
    const { size } = await stat(join(whole, name));
    const lengths = Array.from({ length: 40 }, (_, index) => Math.floor((size * index) / 40));
    const changes = lengths.map((length) => (copy: string) => cutTo(join(copy, name), length));
    expectRefusedOrHarmless(await inspectChanged("cut MANIFEST", changes), ["PAWL_STORE_DAMAGED"]);
  });
});

test("a log that is cut serves what is before the cut, in whole batches, and nothing else", async () => {
  const name = await fileLike(/^db\/\d+\.log$/);
  const { size } = await stat(join(whole, name));
  const lengths = Array.from({ length: 20 }, (_, index) => Math.floor((size * index) / 20));
  const changes = lengths.map((length) => (copy: string) => cutTo(join(copy, name), length));
  for (const inspection of await inspectChanged("cut log", changes)) {
    // What a crash before the sync leaves; only someone who holds a later position can tell the difference.
    expect(inspection).toMatchObject({ verdict: "served" });
  }
});

test("bytes of a table that belong to no block are damage", async () => {
  const table = await readFile(await pathLike(whole, /\.ldb$/));
  expect(findTableDamage(table)).toBeUndefined();
  const footer = table.byteLength - 48;
  const longer = Buffer.concat([
    table.subarray(0, footer),
    Buffer.alloc(9),
    table.subarray(footer),
  ]);
  expect(findTableDamage(longer)).toBe(footer);
});

async function pathLike(copy: string, pattern: RegExp): Promise<string> {
  return join(copy, await fileLike(pattern, copy));
}

async function removeLike(copy: string, pattern: RegExp): Promise<void> {
  await rm(await pathLike(copy, pattern));
}

async function cutLike(copy: string, pattern: RegExp, part: number): Promise<void> {
  const path = await pathLike(copy, pattern);
  await cutTo(path, Math.floor((await stat(path)).size * part));
}

async function zeroLike(copy: string, pattern: RegExp, offset: number): Promise<void> {
  const path = await pathLike(copy, pattern);
  const bytes = await readFile(path);
  await writeFile(path, bytes.fill(0, offset, offset + 4_096));
}

/** Every file's bytes, by name. */
async function contentOf(folder: string): Promise<Record<string, string>> {
  const content: Record<string, string> = {};
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    content[path] = (await readFile(path)).toString("base64");
  }
  return content;
}
