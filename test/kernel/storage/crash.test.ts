import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Move, runMoves } from "../../property/support/moves.js";
import { Crashing, type Deed } from "./support/crashing.js";
import { expectedIndex, storedIndex } from "./support/expected-index.js";

const oneMove: fc.Arbitrary<Move> = runMoves
  .filter((moves) => moves.length > 0)
  .map((moves) => {
    const [move] = moves;
    if (move === undefined) {
      throw new Error("no move");
    }
    return move;
  });

const deed: fc.Arbitrary<Deed> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("start" as const), plan: fc.nat(5) }) },
  {
    weight: 30,
    arbitrary: fc.record({ kind: fc.constant("move" as const), run: fc.nat(9), move: oneMove }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("advance" as const),
      ms: fc.constantFrom(10, 600, 1100, 20_000),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("hold" as const) }) },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant("flush" as const), writes: fc.nat(3) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant("powerCut" as const), keptWrites: fc.nat(4) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("restart" as const) }) },
);

const deeds = fc.array(deed, { minLength: 10, maxLength: 120, size: "max" });

/** Rows are written after every commit, or only when they are old, or mostly when the kernel closes. */
const checkpoint = fc.constantFrom(
  { beginBytes: 0, residentsMax: 2 },
  { beginAgeMs: 1000, residentsMax: 3 },
  { beginAgeMs: 60_000 },
);

describe("a kernel that crashes at any point", () => {
  it("has every run in a state that it had, and nothing acknowledged is lost", async () => {
    await fc.assert(
      fc.asyncProperty(checkpoint, deeds, async (options, list) => {
        const crashing = await Crashing.create(options);
        for (const one of list) {
          await crashing.do(one);
        }
        await crashing.do({ kind: "powerCut", keptWrites: 0 });
        await crashing.do({ kind: "restart" });
        await crashing.expectNothingLost();
        expect(crashing.memory.kernel.failure).toBeUndefined();
      }),
      { numRuns: 150 },
    );
  });

  it("has exactly the index rows that its runs ask for once it has closed", async () => {
    await fc.assert(
      fc.asyncProperty(checkpoint, deeds, async (options, list) => {
        const crashing = await Crashing.create(options);
        for (const one of list) {
          await crashing.do(one);
        }
        await crashing.do({ kind: "restart" });
        const expected: string[] = [];
        for (const runId of crashing.runIds) {
          const run = await crashing.find(runId);
          const number = crashing.memory.kernel.runs.findRun("default", runId);
          if (run !== undefined && number !== undefined) {
            expected.push(...expectedIndex(run, number));
          }
        }
        expect(await storedIndex(crashing.memory.kernel.store)).toEqual(expected.sort());
      }),
      { numRuns: 100 },
    );
  });
});
