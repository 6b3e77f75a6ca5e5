import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { type Decision, reject, rejectWithEvidence } from "../decision.js";
import type { EventValue } from "../event.js";
import { leaseLost } from "../lease-standing.js";
import type { Task } from "../state.js";

type LateReport = EventValue<"reportCameLate">["report"];

/** True for a task that a revision of the plan ended while it was open. */
export function isSuperseded({ status }: Pick<Task, "status">): boolean {
  return status === TaskStatus.SUPERSEDED;
}

/** What a worker says of its attempt; content that is absent says only that it is over. */
export function reportOf<C extends "output" | "failure">(
  kind: C,
  value: Extract<LateReport, { readonly case: C }>["value"] | undefined,
): LateReport {
  return value === undefined
    ? { case: "nothing", value: {} }
    : ({ case: kind, value } as LateReport);
}

/** Refuses the report of a task that was superseded under its lease, and keeps the first one as evidence: the worker did what it says, whoever wants it now. */
export function refuseLate(task: Task, leaseVersion: number, report: LateReport): Decision {
  const refusal = leaseLost(task, leaseVersion);
  const wasHeld = task.leasedAtMs !== 0 && task.leaseVersion === leaseVersion;
  return wasHeld && task.reportedLeaseVersion !== leaseVersion
    ? rejectWithEvidence(refusal, [
        { case: "reportCameLate", value: { task: task.number, leaseVersion, report } },
      ])
    : reject(refusal);
}
