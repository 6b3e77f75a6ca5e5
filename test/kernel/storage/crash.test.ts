import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Crashing } from "./support/crashing.js";
import { checkpointOptions, deeds } from "./support/deeds.js";
import { expectedIndex, storedIndex } from "./support/expected-index.js";

describe("a kernel that crashes at any point", () => {
  it("has every run in a state that it had, and nothing acknowledged is lost", async () => {
    await fc.assert(
      fc.asyncProperty(checkpointOptions, deeds, async (options, list) => {
        const crashing = await Crashing.create(options);
        for (const one of list) {
          await crashing.do(one);
        }
        await crashing.do({ kind: "powerCut", keptWrites: 0 });
        await crashing.do({ kind: "restart" });
        await crashing.expectNothingLost();
        expect(crashing.memory.kernel.failure).toBeUndefined();
      }),
      { numRuns: 60 },
    );
  });

  it("has exactly the index rows that its runs ask for once it has closed", async () => {
    await fc.assert(
      fc.asyncProperty(checkpointOptions, deeds, async (options, list) => {
        const crashing = await Crashing.create(options);
        for (const one of list) {
          await crashing.do(one);
        }
        await crashing.do({ kind: "restart" });
        const expected: string[] = [];
        for (const id of crashing.ids) {
          const run = await crashing.find(id);
          const { runs } = crashing.memory.kernel;
          const number = runs.findRun("default", id) ?? runs.findOperation("default", id);
          if (run !== undefined && number !== undefined) {
            expected.push(...expectedIndex(run, number));
          }
        }
        expect(await storedIndex(crashing.memory.kernel.store)).toEqual(expected.sort());
      }),
      { numRuns: 40 },
    );
  });
});
