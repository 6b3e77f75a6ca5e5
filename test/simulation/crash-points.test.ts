import { afterAll, describe, expect, it } from "vitest";
import type { CrashWrite } from "./support/disk.js";
import { describeFailure, Tally } from "./support/report.js";
import { quietSettings } from "./support/settings.js";
import { simulate } from "./support/simulation.js";

const tally = new Tally();
afterAll(() => tally.print("crash points"));

const seeds = [12];

const deaths: readonly Omit<CrashWrite, "write">[] = [
  { when: "before", isPowerCut: false },
  { when: "before", isPowerCut: true },
  { when: "after", isPowerCut: true },
];

const isAsked = process.env["SIM_SEED"] !== undefined;

describe.skipIf(isAsked)("a kernel that dies once, at a write", () => {
  it.each(seeds)(
    "goes on from every write of scenario %i, before it and after it",
    { timeout: 180_000 },
    async (seed) => {
      const { violations, stats } = await simulate({ seed, settings: quietSettings });
      expect(violations).toEqual([]);
      expect(stats.writes).toBeGreaterThan(50);
      let deathCount = 0;
      for (let write = 1; write <= stats.writes; write++) {
        for (const death of deaths) {
          const result = await simulate({
            seed,
            settings: quietSettings,
            crashAt: { write, ...death },
          });
          tally.add(result);
          deathCount += result.stats.crashes;
          if (result.violations.length > 0) {
            throw new Error(`write ${write}, ${JSON.stringify(death)}: ${describeFailure(result)}`);
          }
        }
      }
      // After an orderly end of the first life nothing is left to die at: all others did.
      expect(deathCount).toBeGreaterThan(0.9 * stats.writes * deaths.length);
    },
  );
});
