import fc from "fast-check";
import { expect, test } from "vitest";
import { playProgram } from "./support/play-program.js";
import { circumstances, programs, undisturbed } from "./support/programs.js";

/** More of them: `WORKFLOW_PROGRAMS=300 npx vitest run test/functions/programs.test.ts`. A failure prints its seed, for `WORKFLOW_SEED`. */
const count = Number(process.env["WORKFLOW_PROGRAMS"] ?? 12);
const seed = process.env["WORKFLOW_SEED"];

test("any program ends as it does undisturbed, with the same effects and records, whatever dies and whether it goes on warm or cold", {
  timeout: 120_000 + count * 30_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(programs, circumstances, async (program, disturbed) => {
      const plain = await playProgram(program, undisturbed);
      expect(plain.outcome).toMatch(/^gave /);
      expect(await playProgram(program, disturbed)).toEqual(plain);
    }),
    { numRuns: count, ...(seed === undefined ? {} : { seed: Number(seed) }) },
  );
});
