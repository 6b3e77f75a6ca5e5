import { FailureOrigin } from "@pawl/proto/v1/failure_pb.js";
import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { localCaller, localStanding } from "@pawl/server/core/caller.js";
import type { DecideContext } from "@pawl/server/core/context.js";
import type { RetrySpec } from "@pawl/server/core/plan/task-spec.js";
import { keepForEver } from "@pawl/server/core/retention.js";
import { decideRetry, drawBackoffMs, type RetryDecision } from "@pawl/server/core/retry.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { planOf, type TaskParts } from "./support/plans.js";
import { Scenario } from "./support/scenario.js";
import { failure, START_MS, sha256 } from "./support/values.js";

function policy(parts: Partial<RetrySpec> = {}): RetrySpec {
  return {
    attemptsMax: 5,
    initialMs: 1000,
    coefficient: 2,
    intervalMsMax: 100_000,
    nonRetryable: new Set(),
    jitter: 0,
    asksWhenExhausted: false,
    workerLossesMax: 5,
    ...parts,
  };
}

describe("the wait without jitter", () => {
  it.each([
    ["doubles", {}, [1000, 2000, 4000, 8000, 16_000]],
    ["grows threefold", { coefficient: 3 }, [1000, 3000, 9000, 27_000, 81_000]],
    ["grows by half, rounded", { initialMs: 5, coefficient: 1.5 }, [5, 8, 11, 17, 25]],
    ["stays", { coefficient: 1 }, [1000, 1000, 1000, 1000, 1000]],
    ["is cut at the longest", { intervalMsMax: 3000 }, [1000, 2000, 3000, 3000, 3000]],
    ["is cut from the start", { intervalMsMax: 400 }, [400, 400, 400, 400, 400]],
    ["is none", { initialMs: 0 }, [0, 0, 0, 0, 0]],
  ])("%s", (_name, parts, expected) => {
    const waits = [1, 2, 3, 4, 5].map((used) => drawBackoffMs(policy(parts), used, () => 0.7));
    expect(waits).toEqual(expected);
  });
});

describe("the share of jitter", () => {
  it.each([
    // 4,000 ms after the third attempt: the part that is not random, plus the drawn share of the random part.
    [0.2, 0, 3200],
    [0.2, 0.5, 3600],
    [0.2, 0.999, 3999],
    [1, 0, 0],
    [1, 0.25, 1000],
    [0.5, 0.5, 3000],
  ])("%d with a draw of %d", (jitter, draw, expected) => {
    expect(drawBackoffMs(policy({ jitter }), 3, () => draw)).toBe(expected);
  });

  it("keeps every wait a whole number between 0 and the longest, for every policy and the 10,000th attempt", () => {
    const arbitrary = fc.record({
      initialMs: fc.integer({ min: 0, max: 86_400_000 }),
      coefficient: fc.double({ min: 1, max: 100, noNaN: true }),
      intervalMsMax: fc.integer({ min: 0, max: 2_592_000_000 }),
      jitter: fc.double({ min: 0, max: 1, noNaN: true }),
    });
    const used = fc.integer({ min: 1, max: 10_000 });
    const draw = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    fc.assert(
      fc.property(arbitrary, used, draw, (parts, usedAttempts, drawn) => {
        const wait = drawBackoffMs(policy(parts), usedAttempts, () => drawn);
        expect(Number.isSafeInteger(wait)).toBe(true);
        expect(wait).toBeGreaterThanOrEqual(0);
        expect(wait).toBeLessThanOrEqual(parts.intervalMsMax);
      }),
    );
  });

  it("is none after a thousand attempts without a first wait, where the factor is infinite", () => {
    expect(2 ** 1024).toBe(Number.POSITIVE_INFINITY);
    expect(drawBackoffMs(policy({ initialMs: 0 }), 1025, () => 0.5)).toBe(0);
    expect(drawBackoffMs(policy(), 1025, () => 0.5)).toBe(100_000);
  });
});

describe("whether there is another attempt", () => {
  const context: DecideContext = {
    nowMs: START_MS + 50,
    ...localCaller,
    runNumber: 1,
    standingOf: localStanding,
    currentVersion: () => 0,
    retentionOf: () => keepForEver,
    random: () => 0,
    sha256,
  };

  function decideFor(
    parts: TaskParts,
    usedAttempts: number,
    says = failure(),
    afterMs?: number,
  ): RetryDecision {
    const plan = planOf({ only: parts });
    const [spec] = plan.tasks;
    const [task] = Scenario.started(plan).state.tasks;
    if (spec === undefined || task === undefined) throw new Error("no task");
    return decideRetry({ task: { ...task, usedAttempts }, spec }, says, context, {
      retryAfterMs: afterMs,
    });
  }

  it("by default for four more, after 0.8 to 1 s and so on", () => {
    const decisions = [0, 1, 2, 3, 4].map((used) => decideFor({}, used));
    expect(decisions.map(({ next }) => next === TaskStatus.BACKOFF)).toEqual([
      true,
      true,
      true,
      true,
      false,
    ]);
    const dues = decisions.map(({ readyAtMs }) =>
      readyAtMs === 0 ? 0 : readyAtMs - context.nowMs,
    );
    expect(dues).toEqual([800, 1600, 3200, 6400, 0]);
  });

  it("never when only one is allowed", () => {
    expect(decideFor({ retry: { attemptsMax: 1 } }, 0)).toEqual({
      next: TaskStatus.FAILED,
      readyAtMs: 0,
      workerLosses: 0,
    });
  });

  it("not when the failure, its kind or its code says no, whoever it is from", () => {
    const parts = { retry: { nonRetryable: ["LeaseExpired", "E42"] } };
    const never = [
      failure({ retryable: false }),
      failure({ code: "E42" }),
      failure({ kind: "LeaseExpired", origin: FailureOrigin.KERNEL }),
    ];
    expect(never.map((says) => decideFor(parts, 0, says).next)).toEqual(
      never.map(() => TaskStatus.FAILED),
    );
    expect(decideFor(parts, 0, failure({ kind: "E4" })).next).toBe(TaskStatus.BACKOFF);
  });

  it("after the worker's own wait, but not one that goes beyond schedule-to-close", () => {
    const parts = { scheduleToCloseMs: 60 };
    expect(decideFor(parts, 0, failure(), 9)).toEqual({
      next: TaskStatus.BACKOFF,
      readyAtMs: START_MS + 59,
      workerLosses: 0,
    });
    expect(decideFor(parts, 0, failure(), 10).next).toBe(TaskStatus.FAILED);
  });
});
