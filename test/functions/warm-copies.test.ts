import { Execution } from "@pawl/sdk/internal/execution.js";
import type { FunctionContext } from "@pawl/sdk/internal/functions/function-context.js";
import { WarmCopies } from "@pawl/sdk/internal/functions/warm-copies.js";
import { describe, expect, test } from "vitest";

const leased = (runId: string, leaseVersion = 1) => ({
  ...{ runId, leaseVersion, task: "main", kind: "f@1", incarnation: 1 },
});

/** A copy of so many bytes: the cache asks its context for nothing else. */
const copy = (warmBytes: number) => ({
  ctx: { warmBytes, wasCalledAsleep: false } as FunctionContext,
  execution: new Execution(),
});

describe("functions kept in memory", () => {
  test("are bounded in bytes: those that wait the longest are dropped first", () => {
    const warm = new WarmCopies(100);
    for (const [index, bytes] of [40, 40, 30].entries())
      warm.keep(leased(`r${index}`), copy(bytes));
    expect([warm.size, warm.bytes]).toEqual([2, 70]);
    expect(warm.take({ ...leased("r0", 2), warm: true })).toBeUndefined();
    expect(warm.take({ ...leased("r1", 2), warm: true })).toBeDefined();
    expect([warm.size, warm.bytes]).toEqual([1, 30]);
  });

  test("are bounded in number", () => {
    const warm = new WarmCopies(100, 2);
    for (const runId of ["a", "b", "c"]) warm.keep(leased(runId), copy(1));
    expect([warm.size, warm.bytes]).toEqual([2, 2]);
  });

  test("that are larger than the bound are not kept, and none is when it is 0", () => {
    expect(new WarmCopies(100).keep(leased("r"), copy(101))).toBe(false);
    expect(new WarmCopies(0).keep(leased("r"), copy(1))).toBe(false);
  });

  test.each([
    ["a later lease", { leaseVersion: 3 }],
    ["another incarnation", { incarnation: 2 }],
    ["another version of the code", { kind: "f@2" }],
    ["everything", { warm: false }],
  ])("do not go on with an offer of %s, and are dropped by it", (_what, differs) => {
    const warm = new WarmCopies(100);
    warm.keep(leased("r"), copy(10));
    const offer = { ...leased("r", 2), warm: true };
    expect(warm.take({ ...offer, ...differs })).toBeUndefined();
    expect(warm.take(offer)).toBeUndefined();
    expect(warm.bytes).toBe(0);
  });

  test("are dropped with a refused suspension, not with an older one", () => {
    const warm = new WarmCopies(100);
    warm.keep(leased("r", 2), copy(10));
    warm.drop(leased("r", 1));
    expect(warm.size).toBe(1);
    warm.drop(leased("r", 2));
    expect([warm.size, warm.bytes]).toEqual([0, 0]);
  });
});
