import { OperationScope } from "@pawl/proto/v1/operation_pb.js";
import { describe, expect, it } from "vitest";
import { completeTask, leaseTask } from "../core/support/commands.js";
import { planOf } from "../core/support/plans.js";
import { propose } from "../core/support/proposals.js";
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

  it("are one for an operation of the namespace that waits for approval, also when a start found it", async () => {
    const memory = await MemoryKernel.create({ beginAgeMs: 20 });
    const target = { kind: "ledger", namespace: "default", operationKey: "o" } as const;
    const parts = { lease: undefined, scope: OperationScope.NAMESPACE, key: "invoice-1" };
    const proposed = memory.kernel.ask(target, propose(1, parts));
    await memory.time.settle();
    const outcome = await proposed;
    expect(outcome).toMatchObject({ accepted: true });
    await memory.time.advance(1_000);
    await memory.close();
    const kernel = await memory.open();
    await memory.time.settle();
    expect(kernel.loop.work.armedDeadlines).toBe(1);
    await kernel.load(outcome.accepted ? outcome.runNumber : 0);
    expect(kernel.loop.work.armedDeadlines).toBe(1);
    await memory.close();
  });
});
