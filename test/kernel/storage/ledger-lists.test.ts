import { OperationStatus } from "@pawl/proto/v1/operation_pb.js";
import type { OperationFilter } from "@pawl/server/kernel/kernel-api.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Crashing } from "./support/crashing.js";
import { deeds } from "./support/deeds.js";

interface Listed {
  readonly key: string;
  readonly status: OperationStatus;
}

async function allOperations(
  { memory }: Crashing,
  filter: OperationFilter,
  size: number,
): Promise<Listed[]> {
  const listed: Listed[] = [];
  let token = "";
  do {
    const page = await memory.kernel.lists.listOperations(
      filter,
      { size, token },
      (run, number) => {
        const operation = run.operations[number];
        return { key: operation?.declaration.key ?? "", status: operation?.status ?? 0 };
      },
    );
    listed.push(...page.items);
    token = page.nextPageToken;
  } while (token !== "");
  return listed;
}

async function allReviews({ memory }: Crashing, size: number): Promise<string[]> {
  const listed: string[] = [];
  let token = "";
  do {
    const page = await memory.kernel.lists.listReviews(
      "default",
      { size, token },
      (run, runNumber, review) => `${run.kind} ${runNumber}/${review}`,
    );
    listed.push(...page.items);
    token = page.nextPageToken;
  } while (token !== "");
  return listed;
}

/** What every run of the test says of its operations. */
async function expectedOperations(crashing: Crashing): Promise<(Listed & { runId: string })[]> {
  const expected: (Listed & { runId: string })[] = [];
  for (const id of crashing.ids) {
    const run = await crashing.find(id);
    for (const { declaration, status } of run?.operations ?? []) {
      expected.push({ key: declaration.key, status, runId: run?.runId ?? "" });
    }
  }
  return expected;
}

/** Open reviews of every run of the test. */
async function expectedReviews(crashing: Crashing): Promise<string[]> {
  const expected: string[] = [];
  for (const id of crashing.ids) {
    const run = await crashing.find(id);
    const { residency } = crashing.memory.kernel;
    const number = [...residency.values()].find((resident) => resident.run === run)?.number;
    const open = run?.reviews.filter(({ resolvedAtMs }) => resolvedAtMs === 0) ?? [];
    expected.push(...open.map((review) => `${run?.kind} ${number}/${review.number}`));
  }
  return expected;
}

function sorted(listed: readonly Listed[]): string[] {
  return listed.map(({ key, status }) => `${key} ${status}`).sort();
}

describe("lists of operations and reviews", () => {
  it("hold what the runs hold, by state and by run, whatever lies in rows and what in memory", async () => {
    const options = fc.constantFrom({ residentsMax: 2 }, { beginAgeMs: 5000 });
    const sizes = fc.integer({ min: 1, max: 5 });
    await fc.assert(
      fc.asyncProperty(options, deeds, sizes, async (checkpoint, list, size) => {
        const crashing = await Crashing.create(checkpoint);
        for (const deed of list) {
          await crashing.do(deed);
        }
        await crashing.do({ kind: "flush", writes: 100 });
        const expected = await expectedOperations(crashing);
        for (const status of [0, ...Object.values(OperationStatus)].filter(Number.isInteger)) {
          const filter = { namespace: "default", runId: "", status: Number(status) };
          const listed = await allOperations(crashing, filter, size);
          const wanted = expected.filter((one) => status === 0 || one.status === status);
          expect(sorted(listed)).toEqual(sorted(wanted));
        }
        const filter = { namespace: "default", runId: "run-0", status: 0 };
        const ofRun = await allOperations(crashing, filter, size);
        expect(sorted(ofRun)).toEqual(sorted(expected.filter(({ runId }) => runId === "run-0")));
      }),
      { numRuns: 30 },
    );
  });

  it("hold every open review, the oldest runs first", async () => {
    await fc.assert(
      fc.asyncProperty(deeds, fc.integer({ min: 1, max: 3 }), async (list, size) => {
        const crashing = await Crashing.create({ residentsMax: 2 });
        for (const deed of list) {
          await crashing.do(deed);
        }
        await crashing.do({ kind: "flush", writes: 100 });
        const expected = await expectedReviews(crashing);
        const listed = await allReviews(crashing, size);
        expect([...listed].sort()).toEqual(expected.sort());
        const numbers = listed.map((one) => Number(/ (\d+)\//.exec(one)?.[1]));
        expect(numbers).toEqual([...numbers].sort((a, b) => a - b));
      }),
      { numRuns: 30 },
    );
  });

  it("finds the aggregate of an operation key, stored or not", async () => {
    const crashing = await Crashing.create({});
    const move = { which: 0, aims: true, stale: 0, pick: 1, content: 0, waitMs: 0 } as const;
    await crashing.do({ kind: "ledger", ledger: 0, move: { ...move, verb: "intend" } });
    const [key] = crashing.ids;
    const find = (): number | undefined =>
      crashing.memory.kernel.lists.findOperation("default", key ?? "");
    const number = find();
    expect(number).toBeGreaterThan(0);
    await crashing.do({ kind: "advance", ms: 3000 });
    expect(find()).toBe(number);
    await crashing.do({ kind: "powerCut", keptWrites: 0 });
    expect(find()).toBe(number);
    expect(crashing.memory.kernel.lists.findOperation("default", "other")).toBeUndefined();
  });
});
