import { describe, expect, it } from "vitest";
import { completeTask } from "../core/support/commands.js";
import { MemoryKernel } from "../support/kernel.js";
import { lease, runOf, start } from "./storage/support/one-run.js";

describe("a fault of the kernel's own code", () => {
  it("ends nothing but its run, also when the state cannot be made anew and no event is left", async () => {
    const memory = await MemoryKernel.create();
    await start(memory, "r1");
    await lease(memory, "r1");
    const { loop, residency } = memory.kernel;
    // The task's completion is applied, what follows from it fails, and so does reading the run again.
    const { runClosed } = loop.work.hooks;
    loop.work.hooks.runClosed = () => {
      throw new TypeError("first");
    };
    const rebuild = residency.rebuild.bind(residency);
    residency.rebuild = () => {
      throw new TypeError("second");
    };
    const completed = memory.kernel.ask(runOf("r1"), completeTask(1));
    await memory.time.settle();
    expect(await completed).toMatchObject({ rejection: { reason: "PAWL_INTERNAL" } });
    expect(memory.kernel.failure).toBeUndefined();
    loop.work.hooks.runClosed = runClosed;
    residency.rebuild = rebuild;
    await start(memory, "r2");
    await memory.close();
  });
});
