import { localCaller } from "@pawl/server/core/caller.js";
import type { Receiver } from "@pawl/server/kernel/outcome.js";
import { describe, expect, it } from "vitest";
import { startRun } from "../core/support/commands.js";
import { planOf } from "../core/support/plans.js";
import { MemoryKernel } from "../support/kernel.js";

/** A receiver that writes down what it is told, and fails where it is told to. */
function receiver(told: string[], name: string, failsAt?: "prepare" | "release"): Receiver {
  const tell = (what: "outcome" | "prepare" | "release"): void => {
    told.push(`${name} ${what}`);
    if (what === failsAt) {
      throw new Error(`${name} cannot`);
    }
  };
  return {
    outcome: () => tell("outcome"),
    prepare: () => tell("prepare"),
    release: () => tell("release"),
    fault: (error) => told.push(`${name} fault: ${String(error)}`),
  };
}

describe("a receiver that fails", () => {
  it.each(["prepare", "release"] as const)(
    "at %s ends alone: the others of its turn are answered and the kernel goes on",
    async (failsAt) => {
      const memory = await MemoryKernel.create();
      const { loop } = memory.kernel;
      const told: string[] = [];
      for (const [name, fails] of [["bad", failsAt], ["good"]] as const) {
        const command = { ...startRun(planOf({ only: {} })), runId: name };
        loop.execute({ kind: "run", namespace: "default", runId: name }, command, localCaller, {
          receiver: receiver(told, name, fails),
          tag: 0,
        });
      }
      await memory.time.settle();
      expect(told).toContain("bad fault: Error: bad cannot");
      expect(told).toContain("good release");
      expect(told.filter((line) => line === "bad release")).toHaveLength(
        failsAt === "release" ? 1 : 0,
      );
      expect(memory.kernel.failure).toBeUndefined();
      await memory.close();
    },
  );
});
