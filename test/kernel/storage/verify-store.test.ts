import { KINDS, rangeOfKind } from "@pawl/server/log/key.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { leaseTask, rewindRun } from "../../core/support/commands.js";
import { propose } from "../../core/support/proposals.js";
import { testFence, testPartition } from "../../support/kernel.js";
import { problemsOn } from "../../support/problems-on.js";
import { Crashing } from "./support/crashing.js";
import { checkpointOptions, deeds } from "./support/deeds.js";

describe("verifying a store", () => {
  it("finds that replaying every history gives its rows, wherever the kernel was cut off", async () => {
    await fc.assert(
      fc.asyncProperty(checkpointOptions, deeds, fc.nat(3), async (options, list, kept) => {
        const crashing = await Crashing.create(options);
        for (const deed of list) {
          await crashing.do(deed);
        }
        crashing.memory.powerCut(kept);
        expect(await problemsOn(crashing.memory.disk)).toEqual([]);
      }),
      { numRuns: 60 },
    );
  });

  it.each([0, 1e9])(
    "finds nothing wrong where a rewind dropped what was proposed, written before or not",
    async (beginBytes) => {
      const crashing = await Crashing.create({ beginBytes });
      await crashing.do({ kind: "start", plan: 0 });
      await crashing.askAll([leaseTask(0), propose(1)]);
      await crashing.do({ kind: "advance", ms: beginBytes === 0 ? 5_000 : 0 });
      await crashing.askAll([rewindRun(1)]);
      await crashing.do({ kind: "restart" });
      await crashing.memory.close();
      expect(await problemsOn(crashing.memory.disk)).toEqual([]);
    },
  );

  it("names every row that is gone, and every one that is not as its history says", async () => {
    const crashing = await Crashing.create({ beginBytes: 0 });
    for (const plan of [0, 1, 2, 2]) {
      await crashing.do({ kind: "start", plan });
    }
    await crashing.do({ kind: "restart" });
    await crashing.memory.close();
    const { disk } = crashing.memory;
    for (const { kind, form } of KINDS) {
      if (form === "segment" || kind === 0) {
        continue;
      }
      const store = disk.open({ epoch: testFence.epoch });
      const [row] = await store.read({
        ...rangeOfKind(kind, testPartition),
        limit: 1,
        reverse: true,
      });
      if (row === undefined) {
        await store.close();
        continue;
      }
      const write = { puts: [], deletes: [row.key], ranges: [] };
      await store.putRows(write, testFence);
      await store.close();
      expect(await problemsOn(disk), `kind ${kind}`).not.toEqual([]);
      const again = disk.open({ epoch: testFence.epoch });
      await again.putRows({ puts: [row], deletes: [], ranges: [] }, testFence);
      await again.close();
      expect(await problemsOn(disk)).toEqual([]);
    }
  });
});
