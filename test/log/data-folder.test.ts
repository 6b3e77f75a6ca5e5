import { randomUUID } from "node:crypto";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { removeKernelFile, writeKernelFile } from "@pawl/server/log/data-folder.js";
import { failNth } from "@pawl/server/log/fault-plan.js";
import { LevelStore } from "@pawl/server/log/level-store.js";
import { horizonPut } from "@pawl/server/log/meta.js";
import { openDataFolder } from "@pawl/server/log/open-store.js";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { sampleChain } from "./log-samples.js";

let parent = "";
let directory = "";

beforeEach(async () => {
  parent = await mkdtemp(join(tmpdir(), "pawl Straße ✓-"));
  directory = join(parent, "data folder");
});
afterEach(() => rm(parent, { recursive: true }));

/** Makes a store with three segments and closes it. */
async function makeStore(): Promise<void> {
  const folder = await openDataFolder(directory, { create: true });
  const { meta, store } = folder;
  const segments = sampleChain(meta.horizon, 3);
  await store.append(segments, { epoch: meta.identity.epoch });
  await folder.close();
}

async function refusal(create = true): Promise<unknown> {
  const opened = await openDataFolder(directory, { create }).catch((error: unknown) => error);
  if (!(opened instanceof Error)) throw new Error("it opened");
  return opened;
}

describe("a data folder that cannot be", () => {
  test("is refused when its name is empty, rather than taken for the current folder", async () => {
    const opened = openDataFolder("", { create: true });
    await expect(opened).rejects.toMatchObject({ code: "PAWL_STORE_FOREIGN" });
  });

  test("is refused where no folder may be made, rather than tried for ever", async () => {
    const opened = openDataFolder("/proc/pawl/data", { create: true });
    await expect(opened).rejects.toMatchObject({ code: "PAWL_STORE_FAILED" });
  });
});

describe("a new data folder", () => {
  test("is made where there is none, and opens again as the same store", async () => {
    const storeId = randomUUID();
    const made = await openDataFolder(directory, {
      create: true,
      newStoreId: () => storeId,
      nowMs: () => 1_700_000_000_000,
    });
    expect(made.isNew).toBe(true);
    expect(made.meta.identity).toEqual({
      format: 0,
      storeId,
      epoch: 1,
      createdAtMs: 1_700_000_000_000,
    });
    expect(made.secret.byteLength).toBe(32);
    await made.close();
    const again = await openDataFolder(directory, { create: true });
    expect(again.isNew).toBe(false);
    expect(again.meta).toEqual(made.meta);
    expect(again.secret).toEqual(made.secret);
    await again.close();
  });

  test("holds these names, for its owner alone", async () => {
    await makeStore();
    expect((await readdir(directory)).sort()).toEqual(["STORE", "db", "secret"]);
    const modeOf = async (name: string): Promise<number> =>
      (await stat(join(directory, name))).mode & 0o777;
    expect(await modeOf("secret")).toBe(0o600);
    expect(await modeOf(".")).toBe(0o700);
    const store = JSON.parse(await readFile(join(directory, "STORE"), "utf8"));
    expect(store).toMatchObject({ kind: "pawl-store", format: 0 });
  });

  test("is made in an empty folder, also in the root of a fresh file system", async () => {
    await mkdir(join(directory, "lost+found"), { recursive: true });
    const folder = await openDataFolder(directory, { create: true });
    expect(folder.isNew).toBe(true);
    await folder.close();
  });

  test.each([
    ["before anything but the marker", ["STORE.new"], []],
    ["in the middle of the database", ["STORE.new", "db/000001.dbtmp"], []],
    ["before STORE had its name", ["STORE.new", "STORE.part", "secret"], []],
    ["with a database that nothing can open", ["STORE.new", "db/CURRENT"], []],
  ])("is finished by the next one when its making was killed %s", async (_when, names) => {
    await mkdir(join(directory, "db"), { recursive: true });
    for (const name of names) await writeFile(join(directory, name), "half");
    const folder = await openDataFolder(directory, { create: true });
    expect(folder.isNew).toBe(true);
    await folder.close();
    expect((await readdir(directory)).sort()).toEqual(["STORE", "db", "secret"]);
  });

  test("keeps the id that an interrupted making had written already", async () => {
    await makeStore();
    const before = JSON.parse(await readFile(join(directory, "STORE"), "utf8"));
    await rm(join(directory, "STORE"));
    await writeFile(join(directory, "STORE.new"), "");
    const folder = await openDataFolder(directory, { create: true });
    expect(folder.meta.identity.storeId).toBe(before.storeId);
    await folder.close();
  });

  test("made by two at once is one store, and one of the two is told who has it", async () => {
    const results = await Promise.allSettled([
      openDataFolder(directory, { create: true }),
      openDataFolder(directory, { create: true }),
    ]);
    const refused = results.filter((result) => result.status === "rejected");
    expect(refused.length).toBeLessThan(2);
    for (const { reason } of refused) expect(reason).toMatchObject({ code: "PAWL_STORE_LOCKED" });
    for (const result of results) if (result.status === "fulfilled") await result.value.close();
    const folder = await openDataFolder(directory, { create: true });
    await folder.close();
  });
});

describe("a data folder without its secret", () => {
  test("gets a new secret when it has none, for its owner alone", async () => {
    await makeStore();
    const first = new Uint8Array(await readFile(join(directory, "secret")));
    await rm(join(directory, "secret"));
    const folder = await openDataFolder(directory, { create: false });
    await folder.close();
    expect(folder.secret.byteLength).toBe(32);
    expect(folder.secret).not.toEqual(first);
    expect((await stat(join(directory, "secret"))).mode & 0o777).toBe(0o600);
    const again = await openDataFolder(directory, { create: false });
    expect(again.secret).toEqual(folder.secret);
    await again.close();
  });
});

describe("a data folder is refused by name, and left as it is,", () => {
  test("when it is absent, empty or unfinished and nobody asked for a new one", async () => {
    expect(await refusal(false)).toMatchObject({ code: "PAWL_STORE_ABSENT" });
    await expect(stat(directory)).rejects.toThrow();
    await mkdir(directory);
    expect(await refusal(false)).toMatchObject({ code: "PAWL_STORE_ABSENT" });
    await writeFile(join(directory, "STORE.new"), "");
    expect(await refusal(false)).toMatchObject({ code: "PAWL_STORE_ABSENT" });
    expect(await readdir(directory)).toEqual(["STORE.new"]);
  });

  test.each([
    ["someone's files", "notes.txt"],
    ["a LevelDB", "CURRENT"],
    ["a database of ours without STORE", "db"],
    ["someone's files beside an unfinished store", "STORE.new"],
  ])("when it holds %s", async (_what, name) => {
    await mkdir(directory);
    await writeFile(join(directory, name), "mine");
    if (name === "STORE.new") await writeFile(join(directory, "notes.txt"), "mine");
    const before = await readdir(directory);
    expect(await refusal()).toMatchObject({ code: "PAWL_STORE_FOREIGN" });
    expect(await readdir(directory)).toEqual(before);
    expect(await readFile(join(directory, name), "utf8")).toBe("mine");
  });

  test("when it is a file", async () => {
    await writeFile(directory, "mine");
    expect(await refusal()).toMatchObject({ code: "PAWL_STORE_FOREIGN" });
  });

  test("when its format is a later one", async () => {
    await makeStore();
    const path = join(directory, "STORE");
    const store = JSON.parse(await readFile(path, "utf8"));
    await writeFile(path, JSON.stringify({ ...store, format: 1, added: "later" }));
    expect(await refusal()).toMatchObject({ code: "PAWL_STORE_NEWER", format: 1 });
  });

  test.each(["", "{", "null", "[]", '{"kind":"pawl-store"}', '{"kind":"other","format":0}'])(
    "when STORE holds %j",
    async (content) => {
      await makeStore();
      await writeFile(join(directory, "STORE"), content);
      expect(await refusal()).toMatchObject({ code: "PAWL_STORE_DAMAGED", file: "STORE" });
    },
  );

  test("when STORE names another store than the database", async () => {
    await makeStore();
    const path = join(directory, "STORE");
    const store = JSON.parse(await readFile(path, "utf8"));
    await writeFile(path, JSON.stringify({ ...store, storeId: randomUUID() }));
    expect(await refusal()).toMatchObject({ code: "PAWL_STORE_DAMAGED", file: "db" });
  });

  test("when the secret is cut", async () => {
    await makeStore();
    await writeFile(join(directory, "secret"), "short");
    expect(await refusal()).toMatchObject({ code: "PAWL_STORE_DAMAGED", file: "secret" });
  });

  test("when the log ends before the horizon", async () => {
    await makeStore();
    const folder = await openDataFolder(directory, { create: false });
    const horizon = { sequence: 4, hash: new Uint8Array(32) };
    await folder.store.putRows(
      { puts: [horizonPut(0, horizon)], deletes: [], ranges: [] },
      { epoch: 1 },
    );
    await folder.close();
    expect(await refusal()).toMatchObject({ code: "PAWL_STORE_DAMAGED", firstBadSequence: 4 });
  });
});

describe("a data folder that is open", () => {
  test("is refused to the next one, who is told which process has it", async () => {
    const folder = await openDataFolder(directory, { create: true });
    await writeKernelFile(directory, { pid: process.pid, port: 7295 });
    expect(await refusal()).toMatchObject({
      code: "PAWL_STORE_LOCKED",
      pid: process.pid,
      port: 7295,
      message: expect.stringContaining("this process (port 7295)"),
    });
    await writeKernelFile(directory, { pid: 2 ** 22 + 1 });
    expect(await refusal()).toMatchObject({ code: "PAWL_STORE_LOCKED", pid: undefined });
    await writeFile(join(directory, "kernel.json"), "{");
    expect(await refusal()).toMatchObject({ code: "PAWL_STORE_LOCKED", pid: undefined });
    await removeKernelFile(directory);
    await folder.close();
    await (await openDataFolder(directory, { create: false })).close();
  });

  test("refuses writes of an epoch before its own", async () => {
    const folder = await openDataFolder(directory, { create: true });
    await expect(
      folder.store.append(sampleChain(folder.meta.horizon, 1), { epoch: 0 }),
    ).rejects.toMatchObject({ code: "PAWL_STORE_FENCED", currentEpoch: 1 });
    await folder.close();
  });

  test("meets the faults that a test puts in its way", async () => {
    const faults = failNth("append", 1, "enospc");
    const folder = await openDataFolder(directory, { create: true, faults });
    await expect(
      folder.store.append(sampleChain(folder.meta.horizon, 1), { epoch: 1 }),
    ).rejects.toMatchObject({ code: "PAWL_STORE_FAILED", cause: { code: "ENOSPC" } });
    await folder.close();
  });

  test("survives the marks of a failed write and of a second maker, which are gone afterwards", async () => {
    await makeStore();
    await writeFile(join(directory, "write-failed"), "");
    await writeFile(join(directory, "STORE.new"), "");
    const folder = await openDataFolder(directory, { create: false });
    await folder.close();
    expect((await readdir(directory)).sort()).toEqual(["STORE", "db", "secret"]);
  });
});

test("a folder that cannot be read is a failure of the disk, not a foreign one", async () => {
  await makeStore();
  if (process.getuid?.() === 0) {
    // Root reads everything; a loop of links is what no one can read.
    await rm(join(directory, "STORE"));
    const { symlink } = await import("node:fs/promises");
    await symlink("STORE", join(directory, "STORE"));
  } else {
    await chmod(join(directory, "STORE"), 0);
  }
  expect(await refusal()).toMatchObject({ code: "PAWL_STORE_FAILED" });
});

test("LevelDB refuses a second handle on the database of an open folder", async () => {
  const folder = await openDataFolder(directory, { create: true });
  await expect(LevelStore.open({ directory: join(directory, "db") })).rejects.toThrow();
  await folder.close();
});
