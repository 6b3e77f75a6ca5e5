import type { SessionListener } from "@pawl/server/kernel/kernel-api.js";
import { Sessions } from "@pawl/server/kernel/sessions.js";
import { runKey } from "@pawl/server/log/key.js";
import type { MemoryStoreOptions } from "@pawl/server/log/memory-store.js";
import { describe, expect, it } from "vitest";
import { completeTask, startRun } from "../core/support/commands.js";
import { planOf } from "../core/support/plans.js";
import { MemoryKernel, testPartition } from "../support/kernel.js";
import { onePlan, runOf, start } from "./storage/support/one-run.js";

/** Connects a worker with one slot. */
async function connect(
  memory: MemoryKernel,
  kinds: readonly string[],
): Promise<{ readonly offered: readonly string[]; addCredit(): Promise<void> }> {
  const offered: string[] = [];
  const listener: SessionListener = {
    outcome: () => undefined,
    prepare: () => undefined,
    release: () => undefined,
    offer: ({ task }, run) => {
      offered.push(`${run.runId}.${run.plan.tasks[task]?.name}`);
    },
    cancel: () => undefined,
    lost: () => undefined,
    ended: () => undefined,
    superseded: () => undefined,
    fault: () => undefined,
  };
  const hello = {
    sessionId: "s1",
    worker: "w1",
    namespace: "default",
    serves: kinds.map((kind) => ({ kind, queue: "" })),
    holds: [],
  };
  const session = await new Sessions(memory.kernel.loop).connect(hello, listener);
  return {
    offered,
    addCredit: async () => {
      session.addCredits(1);
      await memory.time.settle();
    },
  };
}

/** Two stored runs of which none is in memory, under a kernel that starts on them. */
async function restartedOnTwoRuns(
  options: MemoryStoreOptions = {},
  damage: (memory: MemoryKernel, first: number) => void = () => undefined,
): Promise<MemoryKernel> {
  const memory = await MemoryKernel.create();
  const first = await start(memory, "r1");
  await start(memory, "r2");
  await memory.close();
  damage(memory, first);
  await memory.open(options);
  await memory.time.settle();
  return memory;
}

describe("the dispatcher", () => {
  it("serves the queues of a worker in turn: one that is never empty starves no other", async () => {
    const memory = await MemoryKernel.create();
    const plan = planOf({
      a0: { kind: "a" },
      a1: { kind: "a" },
      a2: { kind: "a" },
      b0: { kind: "b" },
    });
    await start(memory, "r1", plan);
    const { offered, addCredit } = await connect(memory, ["a", "b"]);
    for (const task of [0, 3, 1]) {
      await addCredit();
      void memory.kernel.ask(runOf("r1"), { ...completeTask(1), task });
      await memory.time.settle();
    }
    expect(offered).toEqual(["r1.a0", "r1.b0", "r1.a1"]);
    await memory.close();
  });

  it("gives out a ready task for credit that comes while a commit is in flight, and nothing after it", async () => {
    const memory = await MemoryKernel.create();
    const { offered, addCredit } = await connect(memory, ["work"]);
    await memory.time.settle();
    memory.disk.holdWrites = true;
    void memory.kernel.ask(runOf("r1"), startRun(onePlan, { runId: "r1" }));
    await memory.time.settle();
    expect(memory.disk.heldWrites).toBe(1);
    await addCredit();
    memory.disk.holdWrites = false;
    memory.disk.flush();
    await memory.time.settle();
    expect(offered).toEqual(["r1.only"]);
    await memory.close();
  });

  it("leaves a task alone whose run is damaged, and gives out the others", async () => {
    const memory = await restartedOnTwoRuns({}, ({ disk }, first) => {
      expect(disk.flipBit(runKey.encode({ partition: testPartition, runNumber: first }), 700)).toBe(
        true,
      );
    });
    const { offered, addCredit } = await connect(memory, ["work"]);
    await addCredit();
    expect(offered).toEqual(["r2.only"]);
    expect(memory.kernel.failure).toBeUndefined();
    expect(memory.kernel.loop.faults.faults).toMatchObject([{ command: "read" }]);
    await memory.close();
  });

  it("ends the kernel when a run cannot be read because the store fails", async () => {
    let isBroken = false;
    const memory = await restartedOnTwoRuns({
      faults: { before: ({ verb }) => (isBroken && verb === "get" ? "fail" : "ok") },
    });
    const { offered, addCredit } = await connect(memory, ["work"]);
    isBroken = true;
    await addCredit();
    expect(offered).toEqual([]);
    expect(memory.kernel.failure).toMatchObject({ code: "PAWL_STORE_FAILED" });
  });
});
