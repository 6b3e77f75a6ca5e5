import { createHash } from "node:crypto";
import { renameSync, rmSync, writeFileSync } from "node:fs";
import { chmod, chown, mkdir, readdir, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { editTokenFile } from "@pawl/server/access/edit-token-file.js";
import { parseToken } from "@pawl/server/access/token.js";
import type { TokenEntry } from "@pawl/server/access/token-entry.js";
import { formatTokenFile, readTokenFile } from "@pawl/server/access/token-file.js";
import { beforeEach, describe, expect, it } from "vitest";
import { type CliEnd, runCli } from "../cli/support/run-cli.js";
import { temporaryFolder } from "./support.js";

let folder: string;

beforeEach(async () => {
  folder = await temporaryFolder();
});

const fileOf = () => join(folder, ".pawl", "tokens.json");
const create = (): Promise<CliEnd> =>
  runCli(["token", "create", "--name", "alice", "--role", "client"], { cwd: folder });

async function readEntries(made: CliEnd): Promise<readonly TokenEntry[]> {
  expect(made.code).toBe(0);
  return (await readTokenFile(fileOf())) ?? [];
}

describe("a lock that was left", () => {
  it("goes on after an editor that was killed left its lock", async () => {
    await mkdir(join(folder, ".pawl"));
    // No process has this number: it is beyond what Linux and macOS give.
    await writeFile(`${fileOf()}.lock`, "4194305\n");
    expect((await create()).code).toBe(0);
  });

  it("lets one of many take over a lock that was left, and loses none", async () => {
    await mkdir(join(folder, ".pawl"));
    await writeFile(`${fileOf()}.lock`, "4194305\n");
    const made = await Promise.all(Array.from({ length: 20 }, () => create()));
    expect(made.map(({ code }) => code)).toEqual(Array.from({ length: 20 }, () => 0));
    expect(await readTokenFile(fileOf())).toHaveLength(20);
    expect(await readdir(join(folder, ".pawl"))).toEqual(["tokens.json"]);
  });

  it("goes on after a takeover that was killed as well", async () => {
    await mkdir(join(folder, ".pawl"));
    await writeFile(`${fileOf()}.lock`, "4194305\n");
    const name = createHash("sha256").update("4194305\n").digest("hex").slice(0, 12);
    await writeFile(`${fileOf()}.lock.${name}.gone`, "4194306\n");
    expect((await create()).code).toBe(0);
    expect(await readdir(join(folder, ".pawl"))).toEqual(["tokens.json"]);
  });

  it.each([
    ["whose number another process bears now", `${process.pid}\n`],
    ["that died before it wrote its number", ""],
  ])("goes on after a minute when the lock was left by an editor %s", async (_, content) => {
    await mkdir(join(folder, ".pawl"));
    await writeFile(`${fileOf()}.lock`, content);
    const old = new Date(Date.now() - 61_000);
    await utimes(`${fileOf()}.lock`, old, old);
    expect((await create()).code).toBe(0);
    expect(await readdir(join(folder, ".pawl"))).toEqual(["tokens.json"]);
  });

  it("is left alone while another editor is at work, and says so", async () => {
    await mkdir(join(folder, ".pawl"));
    await writeFile(`${fileOf()}.lock`, `${process.pid}\n`);
    const refused = await create();
    expect(refused.code).toBe(1);
    expect(refused.errors).toContain(`${fileOf()}.lock stays. Give the command again`);
    expect(refused.errors).toContain("PAWL_TOKEN_FILE_LOCKED");
    expect(await readdir(join(folder, ".pawl"))).toEqual(["tokens.json.lock"]);
  });
});

describe("the editors of a token file", () => {
  it("loses none when many are made at once", async () => {
    const made = await Promise.all(Array.from({ length: 20 }, () => create()));
    expect(made.map(({ code }) => code)).toEqual(Array.from({ length: 20 }, () => 0));
    const ids = new Set(((await readTokenFile(fileOf())) ?? []).map(({ id }) => id));
    expect(ids).toEqual(new Set(made.map(({ out }) => parseToken(out.trim())?.id)));
  });

  it.each([
    ["its lock was taken over, and the file changed", true],
    ["its lock was taken over", false],
  ])("loses no edit of an editor that stood still while %s", async (_, isChanged) => {
    const theirs = await readEntries(await create());
    const [first, second] = [await create(), await create()];
    expect([first.code, second.code]).toEqual([0, 0]);
    const all = (await readTokenFile(fileOf())) ?? [];
    await editTokenFile(fileOf(), () => ({ entries: [], answer: undefined }));
    let calls = 0;
    await editTokenFile(fileOf(), (entries) => {
      calls++;
      if (calls === 1) {
        rmSync(`${fileOf()}.lock`);
        if (isChanged) {
          writeFileSync(`${fileOf()}.other`, formatTokenFile(theirs), { mode: 0o600 });
          renameSync(`${fileOf()}.other`, fileOf());
        }
      }
      return { entries: [...entries, ...all.slice(1)], answer: undefined };
    });
    expect(calls).toBe(2);
    const expected = isChanged ? all : all.slice(1);
    expect(await readTokenFile(fileOf())).toEqual(expected);
  });

  it("keeps the mode, by which a kernel of another user may read it", async () => {
    await create();
    await chmod(fileOf(), 0o640);
    await create();
    expect(((await stat(fileOf())).mode & 0o777).toString(8)).toBe("640");
  });

  it.runIf(process.getuid?.() === 0)("keeps the owner when root changes the file", async () => {
    await create();
    await chown(fileOf(), 12_345, 23_456);
    await create();
    const { uid, gid, mode } = await stat(fileOf());
    expect([uid, gid, (mode & 0o777).toString(8)]).toEqual([12_345, 23_456, "600"]);
  });
});
