import { OnExisting } from "@pawl/proto/v1/run_service_pb.js";
import type { StartRun } from "@pawl/server/core/command.js";
import fc from "fast-check";
import { plans, startOf } from "./starts.js";

/** A start of the same run, to whatever it leads. */
export interface Restart {
  readonly policy: OnExisting;
  readonly requestId: string;
  readonly plan: number;
  readonly waitMs: number;
  /** Request of a signal beside it. */
  readonly signal: string | undefined;
}

/** Starts of the same run, with few request ids, so that some come twice. */
export const restart: fc.Arbitrary<Restart> = fc.record({
  policy: fc.constantFrom(
    OnExisting.ATTACH,
    OnExisting.REPLACE_OPEN,
    OnExisting.RESTART_FAILED,
    OnExisting.RESTART_CLOSED,
    OnExisting.RESTART_CLOSED,
    OnExisting.REFUSE,
  ),
  requestId: fc.constantFrom("q1", "q2", "q3", "q4", "q5", "q6"),
  plan: fc.nat({ max: 20 }),
  waitMs: fc.constantFrom(0, 1000, 90_000_000),
  signal: fc.constantFrom(undefined, "again", "q1"),
});

/** The start that it means. */
export function restartOf({ policy, requestId, plan: chosen, signal }: Restart): StartRun {
  const plan = plans[chosen % plans.length];
  if (plan === undefined) {
    throw new Error("no plan");
  }
  return {
    ...startOf(plan),
    parent: undefined, // Somebody else starts it then.
    onExisting: policy,
    requestId,
    signal: signal === undefined ? undefined : { name: "a", payload: undefined, requestId: signal },
  };
}
