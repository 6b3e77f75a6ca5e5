import type { WarmTask } from "@pawl/server/kernel/warm-tasks.js";
import { expect, it, vi } from "vitest";
import { findPlanted } from "./support/planted.js";
import { drawFunctions } from "./support/settings.js";

vi.mock("@pawl/server/kernel/warm-tasks.js", async (original) => {
  const { WarmTasks, ...others } =
    await original<typeof import("@pawl/server/kernel/warm-tasks.js")>();
  return {
    ...others,
    // A copy is taken to have been given one event more than it was.
    WarmTasks: class extends WarmTasks {
      override keep(run: number, task: number, warm: WarmTask): void {
        super.keep(run, task, { ...warm, seenThrough: warm.seenThrough + 3 });
      }
    },
  };
});

it("the simulator finds a kernel that takes a warm copy to know more than it was told", async () => {
  const found = await findPlanted({ draw: drawFunctions, from: 16 });
  expect(found).toMatch(/but .* (before|came then)$|now$|not at rest|nothing, and no open call/);
});
