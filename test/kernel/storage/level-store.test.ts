import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { RunStatus } from "@pawl/proto/v1/run_pb.js";
import { verifyStore } from "@pawl/server/kernel/storage/verify-store.js";
import { openDataFolder } from "@pawl/server/log/open-store.js";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { completeTask, leaseTask, startRun } from "../../core/support/commands.js";
import { planOf } from "../../core/support/plans.js";
import { openFolderKernel, type TestKernel } from "../../support/kernel.js";
import { onePlan, runOf } from "./support/one-run.js";

let directory = "";

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "pawl-storage-"));
});

afterEach(async () => {
  await rm(directory, { recursive: true, force: true });
});

const wide = planOf(Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`t${at}`, {}])));

/** Starts runs, every third of them with many tasks, and completes the first task of every second. */
async function runSome(kernel: TestKernel, count: number): Promise<void> {
  const asked: Promise<unknown>[] = [];
  for (let index = 0; index < count; index++) {
    const runId = `r${index}`;
    const plan = index % 3 === 0 ? wide : onePlan;
    asked.push(kernel.ask(runOf(runId), startRun(plan, { runId })));
    asked.push(kernel.ask(runOf(runId), leaseTask(0)));
    if (index % 2 === 0) {
      asked.push(kernel.ask(runOf(runId), completeTask(1)));
    }
  }
  await Promise.all(asked);
}

async function completedRuns(kernel: TestKernel): Promise<string[]> {
  const filter = { namespace: "default", status: RunStatus.COMPLETED, workflow: "" };
  const page = await kernel.lists.listRuns(filter, { size: 1000, token: "" }, (run) => run.runId);
  return [...page.items];
}

describe("a kernel on LevelDB", () => {
  it("finds after a restart what it had, and its store verifies", async () => {
    const kernel = await openFolderKernel(directory, { beginBytes: 0, residentsMax: 20 });
    await runSome(kernel, 120);
    const completed = await completedRuns(kernel);
    expect(completed).toHaveLength(40);
    await kernel.close();

    const { store, meta, close } = await openDataFolder(directory, { create: false });
    const problems: unknown[] = [];
    for await (const report of verifyStore(store, { partition: 0, meta })) {
      if (report.kind === "problem") {
        problems.push(report);
      }
    }
    await close();
    expect(problems).toEqual([]);

    const again = await openFolderKernel(directory);
    await again.ready;
    expect(await completedRuns(again)).toEqual(completed);
    expect(again.loop.work.leases.size).toBe(60);
    expect((await again.load(1))?.run.tasks).toHaveLength(100);
    await again.close();
  });
});
