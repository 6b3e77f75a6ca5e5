import { OnExisting } from "@pawl/proto/v1/run_service_pb.js";
import type { Command } from "@pawl/server/core/command.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  cancelRun,
  leaseTask,
  pauseRun,
  resumeRun,
  sendSignal,
  signalWait,
  startRun,
  suspend,
  timer,
} from "../../core/support/commands.js";
import { Crashing } from "./support/crashing.js";
import { checkpointOptions, deeds } from "./support/deeds.js";
import { expectedIndex, storedIndex } from "./support/expected-index.js";
import { onePlan } from "./support/one-run.js";

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

  it("has exactly the index rows that its runs ask for once it has saved them", async () => {
    await fc.assert(
      fc.asyncProperty(checkpointOptions, deeds, async (options, list) => {
        const crashing = await Crashing.create(options);
        for (const one of list) {
          await crashing.do(one);
        }
        await crashing.do({ kind: "restart" });
        await expectExactIndex(crashing);
      }),
      { numRuns: 40 },
    );
  });

  const again = startRun(onePlan, {
    ...{ runId: "run-0", requestId: "again", onExisting: OnExisting.REPLACE_OPEN },
  });

  it.each([
    ["fires", []],
    ["is outrun by a signal", [sendSignal({ name: "go" })]],
    ["is called off with its run", [cancelRun()]],
    ["is called off, its run begun again and suspended anew", [again, leaseTask(0), waits(2)]],
    ["rests in a paused run", [pauseRun()]],
    ["is due in a run that is resumed", [pauseRun(), resumeRun()]],
  ] as const)("has so when the timer of a suspended task %s", async (_what, commands) => {
    for (const isSaved of [false, true]) {
      const crashing = await Crashing.create({ beginAgeMs: isSaved ? 100 : 60_000 });
      await crashing.do({ kind: "start", plan: 0 });
      await crashing.askAll([leaseTask(0), waits(1)]);
      await crashing.do({ kind: "advance", ms: 1_000 });
      await crashing.askAll(commands);
      await crashing.do({ kind: "advance", ms: commands.length === 0 ? 20_000 : 0 });
      await crashing.do({ kind: "restart" });
      await expectExactIndex(crashing);
    }
  });
});

/** Suspends task 0 until a timer, or a signal. */
function waits(leaseVersion: number): Command {
  const both = [timer(10_000, { name: "later" }), signalWait(5_000, { name: "go" })];
  return suspend(leaseVersion, { waits: both });
}

async function expectExactIndex(crashing: Crashing): Promise<void> {
  await crashing.untilSaved();
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
}
