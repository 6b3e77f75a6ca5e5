import { beginEpoch, finishEpoch } from "@pawl/server/kernel/storage/begin-epoch.js";
import { readEpochs } from "@pawl/server/kernel/storage/epochs.js";
import { lossPut, readLoss } from "@pawl/server/kernel/storage/loss-row.js";
import { recover } from "@pawl/server/kernel/storage/recovery.js";
import { verifyStore } from "@pawl/server/kernel/storage/verify-store.js";
import { readMeta } from "@pawl/server/log/meta.js";
import type { Store } from "@pawl/server/log/store.js";
import { expect, test } from "vitest";
import { plans, startOf } from "../../property/support/starts.js";
import { MemoryKernel, testFence, testPartition } from "../../support/kernel.js";

const options = { partition: testPartition, nowMs: 5_000, reason: "put back from a copy" };

/** A store with a run in its log. */
async function makeStore(): Promise<MemoryKernel> {
  const memory = await MemoryKernel.create();
  const [plan] = plans;
  if (plan === undefined) {
    throw new Error("no plan");
  }
  const asked = memory.kernel.ask(
    { kind: "run", namespace: "default", runId: "r" },
    { ...startOf(plan), runId: "r" },
  );
  await memory.time.advance(1);
  await asked;
  await memory.close();
  return memory;
}

async function isSound(store: Store): Promise<boolean> {
  const { anchor, horizon } = readMeta(store, testPartition);
  let problems = 0;
  for await (const report of verifyStore(store, {
    partition: testPartition,
    meta: { anchor, horizon },
  })) {
    problems += report.kind === "problem" ? 1 : 0;
  }
  return problems === 0;
}

test("a new epoch goes on from the log as it is, and is an event of run 0", async () => {
  const memory = await makeStore();
  const store = memory.disk.open(testFence);
  const before = await recover(store, testPartition);
  const begun = await beginEpoch(store, options);
  expect(begun).toEqual({ epoch: 2, afterSequence: before.head.sequence, lostSequence: 0 });
  const after = await recover(store, testPartition);
  expect(after.meta.identity.epoch).toBe(2);
  expect(after.head.sequence).toBe(before.head.sequence + 1);
  expect(after.begunEpoch).toMatchObject({ epoch: 2, after: before.head });
  expect(readEpochs(store, testPartition)).toMatchObject([{ epoch: 2, after: before.head }]);
  expect(await isSound(store)).toBe(true);
  await expect(
    store.append([{ firstSequence: after.head.sequence + 1, value: new Uint8Array(1) }], testFence),
  ).rejects.toMatchObject({ code: "PAWL_STORE_FENCED" });
});

test("it is there after a kernel's checkpoints, and the next one counts on", async () => {
  const memory = await makeStore();
  const store = memory.disk.open(testFence);
  await beginEpoch(store, options);
  await store.close();
  await memory.open({ epoch: 2 });
  await memory.close();
  const again = memory.disk.open({ epoch: 2 });
  expect(await beginEpoch(again, options)).toMatchObject({ epoch: 3 });
  expect(readEpochs(again, testPartition).map(({ epoch }) => epoch)).toEqual([2, 3]);
  expect(await isSound(again)).toBe(true);
});

test.each([
  ["before", 1],
  ["event", 2],
  ["after", 2],
] as const)("a kill %s leaves epoch %i, whole", async (step, epoch) => {
  const memory = await makeStore();
  const killed = new Error("killed");
  const store = memory.disk.open(testFence);
  const begun = beginEpoch(store, {
    ...options,
    onStep: (at) => {
      if (at === step) {
        throw killed;
      }
    },
  });
  await expect(begun).rejects.toBe(killed);
  await store.close();
  const next = memory.disk.open(testFence);
  const recovered = await finishEpoch(next, await recover(next, testPartition));
  expect(recovered.meta.identity.epoch).toBe(epoch);
  expect(readMeta(next, testPartition).identity.epoch).toBe(epoch);
  expect(readEpochs(next, testPartition)).toHaveLength(epoch - 1);
  expect(await isSound(next)).toBe(true);
});

test("it ends what was found lost, and says so", async () => {
  const memory = await makeStore();
  const store = memory.disk.open(testFence);
  const position = { sequence: 900, hash: new Uint8Array(32).fill(1) };
  const loss = { position, headSequence: 4, foundAtMs: 77 };
  await store.putRows({ puts: [lossPut(testPartition, loss)], deletes: [], ranges: [] }, testFence);
  expect(readLoss(store, testPartition)).toEqual(loss);
  expect(await beginEpoch(store, options)).toMatchObject({ lostSequence: 900 });
  expect(readLoss(store, testPartition)).toBeUndefined();
});
