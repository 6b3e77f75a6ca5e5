import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FaultStore } from "@pawl/server/log/fault-store.js";
import { LevelStore } from "@pawl/server/log/level-store.js";
import { expect, test } from "vitest";
import { describeStoreContract } from "./store-contract.js";

describeStoreContract("LevelStore", async () => {
  const parent = await mkdtemp(join(tmpdir(), "pawl level ü-"));
  return {
    open: async ({ epoch = 0, faults } = {}) => {
      const store = await LevelStore.open({ directory: join(parent, "db"), create: true, epoch });
      return faults === undefined ? store : new FaultStore(store, faults);
    },
    dispose: () => rm(parent, { recursive: true }),
  };
});

test("LevelStore makes no database unless told to", async () => {
  const parent = await mkdtemp(join(tmpdir(), "pawl-level-"));
  try {
    await expect(LevelStore.open({ directory: join(parent, "db") })).rejects.toThrow();
  } finally {
    await rm(parent, { recursive: true });
  }
});

test("LevelStore knows the free bytes of its file system", async () => {
  const parent = await mkdtemp(join(tmpdir(), "pawl-level-"));
  const store = await LevelStore.open({ directory: join(parent, "db"), create: true });
  try {
    expect(await store.freeBytes()).toBeGreaterThan(0);
  } finally {
    await store.close();
    await rm(parent, { recursive: true });
  }
});
