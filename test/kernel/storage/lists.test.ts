import { RunStatus } from "@pawl/proto/v1/run_pb.js";
import type { RunFilter } from "@pawl/server/kernel/kernel-api.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Change, ListedWorld } from "./support/listed-world.js";

const change: fc.Arbitrary<Change> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("start" as const),
      workflow: fc.constantFrom("a", "b"),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("end" as const),
      which: fc.nat(40),
      how: fc.constantFrom("cancel" as const, "terminate" as const),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("save" as const) }) },
);

const filter: fc.Arbitrary<RunFilter> = fc.record({
  namespace: fc.constant("default"),
  status: fc.constantFrom(0, 0, RunStatus.RUNNING, RunStatus.CANCELLED),
  workflow: fc.constantFrom("", "", "a"),
});

const some = fc.array(change, { maxLength: 25, size: "max" });

/** Lists all pages; between them and while they are read the world changes. */
async function listAll(
  world: ListedWorld,
  wanted: RunFilter,
  parts: { readonly size: number; readonly between: readonly Change[] },
): Promise<string[]> {
  const listed: string[] = [];
  let token = "";
  const between = [...parts.between];
  do {
    const page = await world.lists.listRuns(
      wanted,
      { size: parts.size, token },
      (run) => run.runId,
    );
    expect(page.items.length).toBeLessThanOrEqual(parts.size);
    listed.push(...page.items);
    token = page.nextPageToken;
    const next = token === "" ? undefined : between.shift();
    if (next !== undefined) {
      await world.change(next);
    }
  } while (token !== "");
  return listed;
}

describe("a list of runs", () => {
  it("is what a plain list says when nothing changes", async () => {
    await fc.assert(
      fc.asyncProperty(some, filter, fc.integer({ min: 1, max: 7 }), async (list, wanted, size) => {
        const world = await ListedWorld.create();
        for (const one of list) {
          await world.change(one);
        }
        const listed = await listAll(world, wanted, { size, between: [] });
        expect(listed).toEqual(world.matching(wanted));
      }),
      { numRuns: 100 },
    );
  });

  it("has none twice, and misses none that matched throughout, whatever changes meanwhile", async () => {
    await fc.assert(
      fc.asyncProperty(
        some,
        some,
        some,
        fc.record({ wanted: filter, size: fc.integer({ min: 1, max: 7 }) }),
        async (before, between, within, { wanted, size }) => {
          const world = await ListedWorld.create();
          for (const one of before) {
            await world.change(one);
          }
          let throughout = new Set(world.matching(wanted));
          const everMatched = new Set(throughout);
          world.onChange = () => {
            const now = new Set(world.matching(wanted));
            throughout = new Set([...throughout].filter((runId) => now.has(runId)));
            for (const runId of now) {
              everMatched.add(runId);
            }
          };
          world.interrupt(within);
          const listed = await listAll(world, wanted, { size, between });
          expect(new Set(listed).size).toBe(listed.length);
          expect([...throughout].filter((runId) => !listed.includes(runId))).toEqual([]);
          expect(listed.filter((runId) => !everMatched.has(runId))).toEqual([]);
          const numbers = listed.map((runId) => Number(runId.slice(1)));
          expect(numbers).toEqual([...numbers].sort((a, b) => b - a));
        },
      ),
      { numRuns: 400 },
    );
  });

  it("goes on with its tokens after a restart", async () => {
    const world = await ListedWorld.create();
    for (let index = 0; index < 10; index++) {
      await world.change({ kind: "start", workflow: "a" });
      await world.change({ kind: "save" });
    }
    await world.change({ kind: "start", workflow: "a" });
    const wanted = { namespace: "default", status: 0, workflow: "" };
    const ids = (token: string): ReturnType<typeof world.lists.listRuns<string>> =>
      world.lists.listRuns(wanted, { size: 6, token }, (run) => run.runId);
    const first = await ids("");
    await world.restart();
    const second = await ids(first.nextPageToken);
    expect([...first.items, ...second.items]).toEqual(world.matching(wanted));
    expect(second.nextPageToken).toBe("");
  });
});

describe("a page", () => {
  const all = { namespace: "default", status: 0, workflow: "" };

  it.each([
    ["several that fit", 250, [2, 2, 1]],
    ["exactly what fits", 300, [3, 2]],
    ["one that is larger", 10, [1, 1, 1, 1, 1]],
    ["as many as asked for", 1_000, [4, 1]],
  ])("that is bounded in bytes holds %s", async (_, bytesMax, expected) => {
    const world = await ListedWorld.create();
    for (let index = 0; index < 5; index++) {
      await world.change({ kind: "start", workflow: "a" });
      if (index === 2) await world.change({ kind: "save" });
    }
    const sizes: number[] = [];
    const listed: string[] = [];
    let token = "";
    do {
      const page = await world.lists.listRuns(
        all,
        { size: 4, token, bytesMax, bytesOf: () => 100 },
        (run) => run.runId,
      );
      sizes.push(page.items.length);
      listed.push(...page.items);
      token = page.nextPageToken;
    } while (token !== "");
    expect(sizes).toEqual(expected);
    expect(listed).toEqual(world.matching(all));
  });
});

describe("a page token", () => {
  it.each(["x", "AAAA", "a token of another list"])("refuses the token %s", async (token) => {
    const world = await ListedWorld.create();
    const wanted = { namespace: "default", status: 0, workflow: "" };
    await expect(world.lists.listRuns(wanted, { size: 5, token }, () => 0)).rejects.toMatchObject({
      code: "PAWL_INVALID_PAGE_TOKEN",
    });
  });

  it("refuses a token that it gave for another filter", async () => {
    const world = await ListedWorld.create();
    for (let index = 0; index < 3; index++) {
      await world.change({ kind: "start", workflow: "a" });
    }
    const { lists } = world;
    const all = { namespace: "default", status: 0, workflow: "" };
    const page = await lists.listRuns(all, { size: 1, token: "" }, () => 0);
    const other = { ...all, workflow: "a" };
    await expect(
      lists.listRuns(other, { size: 1, token: page.nextPageToken }, () => 0),
    ).rejects.toMatchObject({ code: "PAWL_INVALID_PAGE_TOKEN" });
  });
});
