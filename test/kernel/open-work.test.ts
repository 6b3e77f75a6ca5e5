import { describe, expect, it } from "vitest";
import { completeTask, leaseTask } from "../core/support/commands.js";
import { planOf } from "../core/support/plans.js";
import { MemoryKernel } from "../support/kernel.js";
import { giveBack, lease, runOf, start } from "./storage/support/one-run.js";

const dayMs = 86_400_000;

describe("deadlines of tasks", () => {
  it("are armed once for each open task, and leave memory with it, however far away they are", async () => {
    const memory = await MemoryKernel.create();
    const plan = planOf({ only: { scheduleToCloseMs: dayMs, startToCloseMs: 60_000 } });
    for (const runId of ["r1", "r2"]) {
      await start(memory, runId, plan);
      await lease(memory, runId);
      await giveBack(memory, runId, { version: 1 });
    }
    const { loop } = memory.kernel;
    expect(loop.work.armedDeadlines).toBe(2);
    const again = memory.kernel.ask(runOf("r1"), leaseTask(0));
    await memory.time.settle();
    await again;
    const completed = memory.kernel.ask(runOf("r1"), completeTask(2));
    await memory.time.settle();
    expect(await completed).toMatchObject({ accepted: true });
    expect(loop.work.armedDeadlines).toBe(1);
    await memory.time.advance(dayMs + 100);
    expect(loop.work.armedDeadlines).toBe(0);
    await memory.close();
  });
});
