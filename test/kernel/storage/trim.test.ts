import { verifyStore } from "@pawl/server/kernel/storage/verify-store.js";
import { readMeta } from "@pawl/server/log/meta.js";
import { describe, expect, it } from "vitest";
import { completeTask, leaseTask, startRun } from "../../core/support/commands.js";
import { payload } from "../../core/support/values.js";
import { MemoryKernel, testFence, testPartition } from "../../support/kernel.js";
import { onePlan, runOf, segmentsOf } from "./support/one-run.js";

const large = payload("x".repeat(30_000));

/** Runs that leave about 30 KB in the log each. */
async function runMany(memory: MemoryKernel, from: number, count: number): Promise<void> {
  for (let index = from; index < from + count; index++) {
    const target = runOf(`r${index}`);
    const { kernel } = memory;
    const asked = [
      kernel.ask(target, startRun(onePlan, { runId: `r${index}`, input: large })),
      kernel.ask(target, leaseTask(0)),
      kernel.ask(target, completeTask(1)),
    ];
    await memory.time.settle();
    await Promise.all(asked);
  }
}

async function problemsOf(memory: MemoryKernel): Promise<unknown[]> {
  const store = memory.disk.open({ epoch: testFence.epoch });
  const problems: unknown[] = [];
  const meta = readMeta(store, testPartition);
  for await (const report of verifyStore(store, { partition: testPartition, meta })) {
    if (report.kind === "problem") {
      problems.push(report);
    }
  }
  await store.close();
  return problems;
}

const mib = 1024 * 1024;

describe("the front of the log", () => {
  it("is cut off behind the horizon once the log is longer than it is kept, and the chain holds from there", async () => {
    const memory = await MemoryKernel.create({ logRetentionBytes: 8 * mib });
    await runMany(memory, 0, 1300);
    await memory.time.advance(5000);
    const meta = readMeta(memory.kernel.store, testPartition);
    const [first] = await segmentsOf(memory.kernel.store);
    expect(meta.anchor.sequence).toBeGreaterThan(0);
    expect(first?.firstSequence).toBe(meta.anchor.sequence + 1);
    expect(meta.anchor.sequence).toBeLessThan(meta.horizon.sequence);
    await memory.close();
    expect(await problemsOf(memory)).toEqual([]);
    await memory.open();
    await runMany(memory, 1300, 1);
    expect(memory.kernel.failure).toBeUndefined();
  });

  it("stays when the log is short", async () => {
    const memory = await MemoryKernel.create({ logRetentionBytes: 8 * mib });
    await runMany(memory, 0, 100);
    await memory.time.advance(5000);
    expect(readMeta(memory.kernel.store, testPartition).anchor.sequence).toBe(0);
  });

  it("is cut off when it is old, also across restarts", async () => {
    const memory = await MemoryKernel.create({ logRetentionMs: 3_600_000 });
    for (let round = 0; round < 4; round++) {
      await runMany(memory, round * 200, 200);
      await memory.close();
      await memory.open();
    }
    expect(readMeta(memory.kernel.store, testPartition).anchor.sequence).toBe(0);
    await memory.time.advance(2 * 3_600_000);
    await runMany(memory, 1000, 1);
    await memory.time.advance(5000);
    expect(readMeta(memory.kernel.store, testPartition).anchor.sequence).toBeGreaterThan(0);
  });
});
