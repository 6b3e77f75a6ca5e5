// Goal: how many runs are open is known after a start, right, and at nobody's expense.
import { readRow } from "@pawl/server/kernel/storage/stored-run.js";
import { rangeOfKind, visibilityKey } from "@pawl/server/log/key.js";
import { describe, expect, it } from "vitest";
import { pauseRun, resumeRun, startRun, terminateRun } from "../../core/support/commands.js";
import { MemoryKernel, testPartition } from "../../support/kernel.js";
import { HookedStore } from "./support/hooked-store.js";
import { finish, lease, onePlan, runOf, start } from "./support/one-run.js";

const openRuns = ({ kernel }: MemoryKernel): number | undefined => kernel.loop.work.openRuns.count;

async function ask(
  memory: MemoryKernel,
  runId: string,
  command: Parameters<MemoryKernel["kernel"]["ask"]>[1],
): Promise<void> {
  const asked = memory.kernel.ask(runOf(runId), command);
  await memory.time.settle();
  expect(await asked).toMatchObject({ accepted: true });
}

/** How the kernel went away, and so where a start finds what was open: in rows, in the tail, or partly in each. */
const endings = {
  "in order": (memory: MemoryKernel) => memory.close(),
  "by a power cut": (memory: MemoryKernel) => {
    memory.powerCut();
    return Promise.resolve();
  },
};

describe.each(Object.entries(endings))("after a kernel went away %s, the next one", (_, end) => {
  it("counts each open run once, a paused one as well", async () => {
    const memory = await MemoryKernel.create();
    for (const runId of ["running", "paused", "resumed"]) await start(memory, runId);
    await finish(memory, "finished");
    await ask(memory, "paused", pauseRun());
    await ask(memory, "resumed", pauseRun());
    await ask(memory, "resumed", resumeRun());
    await end(memory);
    await memory.open();
    await memory.time.settle();
    expect(openRuns(memory)).toBe(3);
    for (const runId of ["running", "paused", "resumed"]) {
      await ask(memory, runId, terminateRun());
    }
    expect(openRuns(memory)).toBe(0);
  });
});

it("counts a run of the tail of which the rows know all", async () => {
  const memory = await MemoryKernel.create();
  // More than one batch holds, so that the first leaves the horizon before the last of these.
  const big = Array.from({ length: 12 }, (_, index) => `big-${index}`);
  for (const runId of big) {
    await ask(memory, runId, startRun(onePlan, { runId, input: new Uint8Array(30_000) }));
  }
  // So many that the walk comes to the first before it is read from the tail.
  for (let index = 0; index < 250; index++) await start(memory, `small-${index}`);
  await lease(memory, "big-0");
  memory.disk.holdWrites = true;
  await memory.time.advance(1500);
  expect(memory.disk.heldWrites).toBe(1);
  memory.powerCut(1);
  memory.disk.holdWrites = false;
  await memory.open();
  const { recovery, runs } = memory.kernel;
  const first = runs.findRun("default", "big-0") ?? 0;
  expect(recovery.tail.has(first)).toBe(true);
  expect(readRow(runs.source, first)?.row).toMatchObject({ eventCount: 2 });
  await memory.time.settle();
  expect(openRuns(memory)).toBe(262);
});

it("lets a kernel know what is open, and save what changes, before all are counted", async () => {
  const memory = await MemoryKernel.create();
  for (const runId of ["stays", "ends", "is-paused"]) await start(memory, runId);
  await memory.close();
  const listed = rangeOfKind(visibilityKey.kind, testPartition);
  let release = (): void => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  await memory.open({}, (inner) => {
    const store = new HookedStore(inner);
    store.beforeRead = ({ gte }) => {
      const isListed = Buffer.compare(gte, listed.gte) >= 0 && Buffer.compare(gte, listed.lt) < 0;
      return isListed ? released : Promise.resolve();
    };
    return store;
  });
  await memory.time.settle();
  await memory.kernel.ready;
  expect(openRuns(memory)).toBeUndefined();
  await ask(memory, "ends", terminateRun());
  await ask(memory, "is-paused", pauseRun());
  const number = await start(memory, "new");
  await memory.time.advance(3000);
  expect(readRow(memory.kernel.runs.source, number)).toBeDefined();
  release();
  await memory.time.settle();
  expect(openRuns(memory)).toBe(3);
});
