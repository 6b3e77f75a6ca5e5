import { LeaseEndReason } from "@pawl/proto/log/v1/event_pb.js";
import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import type { CompiledPlan } from "@pawl/server/core/plan/task-spec.js";
import { queueKey } from "@pawl/server/kernel/dispatcher.js";
import type { Store } from "@pawl/server/log/store.js";
import { describe, expect, it } from "vitest";
import { completeTask, failTask } from "../../core/support/commands.js";
import { planOf } from "../../core/support/plans.js";
import { createMemoryStore, MemoryKernel } from "../../support/kernel.js";
import { giveBack, lease, onePlan, runOf, start } from "./support/one-run.js";

/** How the kernel went away, and so where a start finds what was open: in rows, in the tail, or partly in each. */
const endings = {
  "in order": (memory: MemoryKernel) => memory.close(),
  "by a power cut": (memory: MemoryKernel) => {
    memory.powerCut();
    return Promise.resolve();
  },
  "by a power cut long after": async (memory: MemoryKernel) => {
    await memory.time.advance(3000);
    memory.powerCut();
  },
};

const works = queueKey("default", "work", "work");

describe.each(Object.entries(endings))("after a kernel went away %s, the next one", (_, end) => {
  it("knows every ready task", async () => {
    const memory = await MemoryKernel.create();
    for (let index = 0; index < 5; index++) {
      await start(memory, `r${index}`);
    }
    await end(memory);
    await memory.open();
    await memory.time.settle();
    expect(memory.kernel.loop.work.dispatcher.describe(works).ready).toBe(5);
  });

  it("knows every lease, with its version and its session, for at least ten seconds more", async () => {
    const memory = await MemoryKernel.create();
    const plan = planOf({ only: { leaseMs: 1000, retry: { attemptsMax: 2, initialMs: 60_000 } } });
    const number = await start(memory, "r1", plan);
    await lease(memory, "r1");
    await end(memory);
    await memory.open();
    await memory.time.settle();
    const { leases } = memory.kernel.loop.work;
    expect(leases.size).toBe(1);
    expect(leases.find(number, 0)).toMatchObject({ leaseVersion: 1, sessionId: "s1" });
    await memory.time.advance(9000);
    expect(leases.size).toBe(1);
    await memory.time.advance(2000);
    expect(leases.size).toBe(0);
    const run = (await memory.kernel.load(number))?.run;
    expect(run?.tasks[0]).toMatchObject({
      status: TaskStatus.BACKOFF,
      leaseEndReason: LeaseEndReason.EXPIRED,
    });
  });

  it("knows the version of a lease that followed another one", async () => {
    const memory = await MemoryKernel.create();
    const number = await start(memory, "r1");
    await lease(memory, "r1");
    await memory.time.advance(1500);
    await giveBack(memory, "r1", { version: 1 });
    await lease(memory, "r1");
    await end(memory);
    await memory.open();
    await memory.time.settle();
    expect(memory.kernel.loop.work.leases.find(number, 0)?.leaseVersion).toBe(2);
  });

  it("fires what falls due, also of runs that nobody asks for, and of every task of them", async () => {
    const memory = await MemoryKernel.create();
    const backoff = { retry: { attemptsMax: 3, initialMs: 20_000 } };
    const plan = planOf({ first: backoff, second: { scheduleToStartMs: 60_000 } });
    const number = await start(memory, "r1", plan);
    await lease(memory, "r1");
    memory.kernel.ask(runOf("r1"), failTask(1)).catch(() => undefined);
    await memory.time.settle();
    await end(memory);
    await memory.open();
    await memory.time.advance(30_000);
    const tasks = (await memory.kernel.load(number))?.run.tasks;
    expect(tasks?.map(({ status }) => status)).toEqual([TaskStatus.READY, TaskStatus.READY]);
    await memory.time.advance(60_000);
    expect(tasks?.map(({ status }) => status)).toEqual([TaskStatus.READY, TaskStatus.FAILED]);
  });
});

describe.each(Object.entries(endings))("a kernel that follows one that went away %s", (_, end) => {
  it("offers a task once, although rows and log both tell of it", async () => {
    const memory = await MemoryKernel.create();
    const number = await start(memory, "r1");
    await memory.time.advance(1500);
    await lease(memory, "r1");
    await giveBack(memory, "r1", { version: 1 });
    await end(memory);
    await memory.open();
    await memory.time.settle();
    await lease(memory, "r1");
    const completed = memory.kernel.ask(runOf("r1"), completeTask(2));
    await memory.time.settle();
    expect(await completed).toMatchObject({ accepted: true });
    expect(memory.kernel.loop.work.leases.size).toBe(0);
    expect((await memory.kernel.load(number))?.run.openTasks).toBe(0);
  });

  it("gives the next run a number that no run had", async () => {
    const memory = await MemoryKernel.create();
    const before = await start(memory, "r1");
    await end(memory);
    await memory.open();
    expect(await start(memory, "r2")).toBe(before + 1);
  });

  it("does not begin before what was recorded, though the wall clock does", async () => {
    const memory = await MemoryKernel.create();
    await memory.time.advance(60_000);
    await start(memory, "r1", onePlan);
    const startedAtMs = memory.time.wallMs();
    await end(memory);
    memory.time.jumpWall(-3_600_000);
    await memory.open();
    expect(memory.kernel.loop.clock.now()).toBeGreaterThanOrEqual(startedAtMs);
  });
});

it("knows every ready task of runs whose rows were written before the horizon came there", async () => {
  const memory = new MemoryKernel();
  await createMemoryStore(memory.disk);
  const only = { batches: 1 };
  await memory.open({}, (store) => letThrough(store, only));
  const tasks = (count: number): CompiledPlan =>
    planOf(Object.fromEntries(Array.from({ length: count }, (_, index) => [`t${index}`, {}])));
  await start(memory, "early", tasks(200));
  await start(memory, "fills a batch", tasks(4000));
  for (let index = 0; index < 150; index++) {
    await start(memory, `r${index}`);
  }
  await lease(memory, "early");
  await giveBack(memory, "early", { version: 1 });
  await memory.time.advance(1500);
  expect(only.batches).toBe(-1); // One is written, another begun.
  memory.powerCut();
  await memory.open();
  await memory.time.settle();
  expect(memory.kernel.loop.work.dispatcher.describe(works).ready).toBe(200 + 4000 + 150);
});

/** A store that writes so many batches of rows, and whose disk never comes to the next. */
function letThrough(store: Store, left: { batches: number }): Store {
  return {
    append: (segments, fence) => store.append(segments, fence),
    get: (key) => store.get(key),
    read: (range) => store.read(range),
    compact: (range, fence) => store.compact(range, fence),
    usedBytes: () => store.usedBytes(),
    freeBytes: () => store.freeBytes(),
    close: () => store.close(),
    putRows: (write, fence) =>
      left.batches-- > 0 ? store.putRows(write, fence) : new Promise(() => undefined),
  };
}
