import { verifyStore } from "@pawl/server/kernel/storage/verify-store.js";
import {
  type Fault,
  type FaultPlan,
  failNth,
  type StoreVerb,
} from "@pawl/server/log/fault-plan.js";
import { readMeta } from "@pawl/server/log/meta.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { testFence, testPartition } from "../../support/kernel.js";
import { Crashing, type Deed } from "./support/crashing.js";
import { deeds } from "./support/deeds.js";

/** One scenario, always the same: some runs, some time, so that rows are written between commits. */
const scenario: readonly Deed[] = fc
  .sample(deeds, { seed: 3, numRuns: 1 })
  .flat()
  .filter(({ kind }) => kind === "start" || kind === "move" || kind === "advance");

/** Goes through the scenario as far as it goes, then starts a kernel on what is left. */
async function failAt(plan: FaultPlan): Promise<{ hasFailed: boolean }> {
  const crashing = await Crashing.create({ beginAgeMs: 500, residentsMax: 2 }, plan);
  const { memory } = crashing;
  for (const deed of scenario) {
    if (memory.kernel.failure !== undefined) {
      break;
    }
    await crashing.do(deed).catch(() => undefined);
  }
  const hasFailed = memory.kernel.failure !== undefined;
  await crashing.do({ kind: "powerCut", keptWrites: 0 });
  memory.powerCut();
  const store = memory.disk.open({ epoch: testFence.epoch });
  const meta = readMeta(store, testPartition);
  for await (const report of verifyStore(store, { partition: testPartition, meta })) {
    expect(report.kind).not.toBe("problem");
  }
  return { hasFailed };
}

async function countCalls(verb: StoreVerb): Promise<number> {
  let count = 0;
  const plan: FaultPlan = {
    before: (call) => {
      count = call.verb === verb ? call.numberOfVerb : count;
      return "ok";
    },
  };
  await failAt(plan);
  return count;
}

const faults: readonly Exclude<Fault, "ok">[] = ["enospc", "unknown-kept"];

describe("a store that fails at its every write, one after the other", () => {
  it.each(["append", "putRows"] as const)("loses nothing acknowledged: %s", async (verb) => {
    const calls = await countCalls(verb);
    expect(calls).toBeGreaterThan(10);
    for (let number = 1; number <= calls; number++) {
      for (const fault of faults) {
        const { hasFailed } = await failAt(failNth(verb, number, fault));
        expect(hasFailed, `${fault} at ${verb} ${number}`).toBe(true);
      }
    }
  });
});
