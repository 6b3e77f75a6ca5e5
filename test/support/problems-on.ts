import { verifyStore } from "@pawl/server/kernel/storage/verify-store.js";
import type { MemoryDisk } from "@pawl/server/log/memory-store.js";
import { readMeta } from "@pawl/server/log/meta.js";
import type { VerifyReport } from "@pawl/server/log/verify-log.js";
import { expect } from "vitest";
import { testFence, testPartition } from "./kernel.js";

/** What `pawl verify` finds on a disk, which it must have read whole. Only while no kernel is open on it. */
export async function problemsOn(disk: MemoryDisk): Promise<string[]> {
  const store = disk.open({ epoch: testFence.epoch });
  const meta = readMeta(store, testPartition);
  const reports: VerifyReport[] = [];
  for await (const report of verifyStore(store, { partition: testPartition, meta })) {
    reports.push(report);
  }
  await store.close();
  const done = reports.at(-1);
  const problems = reports.filter((report) => report.kind === "problem");
  expect(done).toMatchObject({ kind: "done", isComplete: true, problems: problems.length });
  return problems.map(({ message }) => message);
}
