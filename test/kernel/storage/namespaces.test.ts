import type { Caller } from "@pawl/server/core/caller.js";
import { localCaller } from "@pawl/server/core/caller.js";
import type { Kernel } from "@pawl/server/kernel/kernel.js";
import { verifyStore } from "@pawl/server/kernel/storage/verify-store.js";
import { MemoryDisk } from "@pawl/server/log/memory-store.js";
import { readMeta } from "@pawl/server/log/meta.js";
import { beforeEach, expect, test } from "vitest";
import { startRun } from "../../core/support/commands.js";
import { createMemoryStore, testFence, testPartition } from "../../support/kernel.js";
import { onePlan, runOf } from "./support/one-run.js";
import { openTrimming } from "./support/trimming-kernel.js";

const ann: Caller = { principal: "ann", roles: ["admin"], authenticated: true };

let disk: MemoryDisk;

beforeEach(async () => {
  disk = new MemoryDisk();
  await createMemoryStore(disk);
});

const open = (): Promise<Kernel> => openTrimming(disk);

async function names(kernel: Kernel): Promise<string[]> {
  return (await kernel.listNamespaces(0)).map(({ namespace }) => namespace);
}

async function begin(kernel: Kernel, runId: string): Promise<void> {
  await kernel.ask(runOf(runId), startRun(onePlan, { runId }), localCaller, () => undefined);
}

test("there is default, and what was created after it, in that order", async () => {
  const kernel = await open();
  expect(await names(kernel)).toEqual(["default"]);
  expect(await kernel.createNamespace("pay", ann)).toMatchObject({
    existing: false,
    entry: { namespace: "pay", principal: "ann" },
  });
  await kernel.createNamespace("mail", ann);
  expect(await names(kernel)).toEqual(["default", "pay", "mail"]);
  expect([kernel.hasNamespace("default"), kernel.hasNamespace("mail")]).toEqual([true, true]);
  expect(kernel.hasNamespace("Mail")).toBe(false);
  await kernel.close();
});

test("one that is there stays as it is, whoever creates it again", async () => {
  const kernel = await open();
  const { entry } = await kernel.createNamespace("pay", ann);
  expect(await kernel.createNamespace("pay", localCaller)).toMatchObject({ existing: true, entry });
  expect(await kernel.createNamespace("default", ann)).toMatchObject({
    existing: true,
    entry: { principal: "" },
  });
  await kernel.close();
});

const endings = {
  "in order": (kernel: Kernel) => kernel.close(),
  "by a power cut": async () => disk.powerCut(),
};

test.each(Object.entries(endings))(
  "they are there after a kernel went away %s, from the tail and from the row",
  async (_, end) => {
    const first = await open();
    const { entry } = await first.createNamespace("pay", ann);
    await end(first);
    const second = await open();
    expect(await names(second)).toEqual(["default", "pay"]);
    await second.createNamespace("mail", localCaller);
    // Its checkpoint takes the store's own run along, and the log behind it goes.
    await begin(second, "r1");
    await end(second);
    const third = await open();
    expect(await names(third)).toEqual(["default", "pay", "mail"]);
    expect((await third.listNamespaces(1))[0]).toEqual(entry);
    await third.createNamespace("last", ann);
    await third.close();
    const store = disk.open({ epoch: testFence.epoch });
    const findings: unknown[] = [];
    const meta = readMeta(store, testPartition);
    for await (const report of verifyStore(store, { partition: testPartition, meta })) {
      findings.push(report);
    }
    expect(
      JSON.stringify(findings, (_key, value) => (typeof value === "bigint" ? `${value}` : value)),
    ).not.toMatch(/[Ee]xpected/);
    await store.close();
  },
);

test("a power cut before it is durable leaves none, and nobody was told that there was one", async () => {
  const kernel = await open();
  disk.holdWrites = true;
  let isTold = false;
  kernel.createNamespace("pay", ann).then(
    () => {
      isTold = true;
    },
    () => {},
  );
  while (disk.heldWrites === 0) {
    await new Promise((resolve) => setImmediate(resolve));
  }
  disk.powerCut();
  disk.holdWrites = false;
  const next = await open();
  expect(await names(next)).toEqual(["default"]);
  expect(isTold).toBe(false);
  await next.close();
});

test("a thousand is the most", async () => {
  const kernel = await open();
  await Promise.all(
    Array.from({ length: 999 }, (_, index) => kernel.createNamespace(`n${index}`, ann)),
  );
  await expect(kernel.createNamespace("one-more", ann)).rejects.toMatchObject({
    code: "PAWL_INVALID_FIELD",
  });
  expect(await kernel.createNamespace("n5", ann)).toMatchObject({ existing: true });
  await kernel.close();
});
