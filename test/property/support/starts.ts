import { OnExhausted, OnNeedFailure } from "@pawl/proto/v1/plan_pb.js";
import { OnExisting } from "@pawl/proto/v1/run_service_pb.js";
import { VersionMode } from "@pawl/proto/v1/version_pb.js";
import type { StartRun } from "@pawl/server/core/command.js";
import type { CompiledPlan } from "@pawl/server/core/plan/task-spec.js";
import fc from "fast-check";
import { planOf } from "../../core/support/plans.js";
import { fingerprint, payload } from "../../core/support/values.js";

/** A plan for moves around effects: one task with attempts to spare. */
export const effectPlan: CompiledPlan = planOf({
  only: { retry: { attemptsMax: 1000, initialMs: 0 } },
});

/** Plans of several shapes, with every timeout somewhere. */
export const plans: readonly CompiledPlan[] = [
  planOf({ only: { retry: { attemptsMax: 3, initialMs: 1000, workerLossesMax: 2 } } }, "only"),
  planOf({ a: {}, b: { needs: ["a"], cancelGraceMs: 500 }, c: { needs: ["b"] } }, "c"),
  planOf(
    {
      top: { scheduleToStartMs: 30_000 },
      left: {
        needs: ["top"],
        startToCloseMs: 4000,
        retry: { attemptsMax: 2, initialMs: 500, jitter: 1, onExhausted: OnExhausted.ASK },
      },
      right: { needs: ["top"], scheduleToCloseMs: 60_000, retry: { nonRetryable: ["Fatal"] } },
      bottom: { needs: ["left", "right"] },
      free: {},
    },
    "bottom",
  ),
  // Of the current version of its workflow; its place is known below.
  planOf({ main: { kind: "w@current", retry: { attemptsMax: 4, initialMs: 0 } } }, "main"),
  planOf(
    {
      last: {
        needs: ["some", "over"],
        join: { rules: { over: OnNeedFailure.CONTINUE, some: OnNeedFailure.FAIL } },
      },
      over: { needs: ["a"], join: { rules: { a: OnNeedFailure.CONTINUE } } },
      some: { needs: ["a", "b", "c"], join: { atLeast: 2 }, retry: { attemptsMax: 1 } },
      a: { retry: { attemptsMax: 1 } },
      b: { retry: { attemptsMax: 2, initialMs: 0 } },
      c: { scheduleToCloseMs: 30_000 },
    },
    "last",
  ),
];

/** A plan, at random. */
export const plan: fc.Arbitrary<CompiledPlan> = fc.constantFrom(...plans);

/** Starts a run of this plan. */
export function startOf(chosen: CompiledPlan): StartRun {
  return {
    kind: "StartRun",
    namespace: "default",
    runId: "r1",
    workflow: "w",
    plan: chosen,
    input: payload({ n: 1 }),
    fingerprint: fingerprint(1),
    labels: [{ key: "team", value: "a" }],
    traceparent: "",
    onExisting: OnExisting.UNSPECIFIED,
    requestId: "",
    // Those of one plan are children of another run.
    runTimeoutMs: chosen === plans[2] ? 120_000 : undefined,
    versionChoice: chosen === plans[3] ? { mode: VersionMode.FOLLOW, orElse: 2 } : undefined,
    parent: chosen === plans[1] ? { run: 3, obligation: 1, runId: "parent" } : undefined,
  };
}
