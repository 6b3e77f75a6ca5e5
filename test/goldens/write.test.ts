import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { replay } from "@pawl/sdk/testing";
import { afterEach, beforeEach, expect, test } from "vitest";
import { golden } from "./histories/account-1/code.js";
import { main } from "./support/record-golden.js";
import { writeHistories } from "./support/write-history.js";
import { writeStore } from "./support/write-store.js";

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "pawl-golden-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

test("histories are written anew, name no folder of this machine, and fit their code", async () => {
  expect((await writeHistories(folder, golden)).sort()).toEqual(["ended.jsonl", "waits.jsonl"]);
  const lines = await readFile(join(folder, "ended.jsonl"), "utf8");
  expect((await replay(lines, golden.serve(golden.code))).fits).toBe(true);
  expect(lines).not.toContain("file://");
});

test("a history that is there is never written again", async () => {
  await writeFile(join(folder, "ended.jsonl"), "by an earlier commit");
  await expect(writeHistories(folder, golden)).rejects.toThrow("EEXIST");
  expect(await readFile(join(folder, "ended.jsonl"), "utf8")).toBe("by an earlier commit");
});

test("a store that is there is never written again", async () => {
  await mkdir(join(folder, "store"));
  const code = fileURLToPath(new URL("stores/first-1/code.ts", import.meta.url));
  await expect(writeStore(code, folder)).rejects.toThrow("Take a new name");
  expect(await readdir(join(folder, "store"))).toEqual([]);
});

test("a command line that is not understood writes nothing", async () => {
  expect(await main(["history"])).toBe(2);
  expect(await main(["history", "../elsewhere"])).toBe(2);
  expect(await main(["plan", "order-1"])).toBe(2);
});
