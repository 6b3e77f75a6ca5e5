import type { Run } from "../state.js";
import { breaches, type Violation } from "./violation.js";

/** Violations of how a run began its present incarnation, and of when it ends at the latest. */
export function findIncarnationViolations(run: Run): Violation[] {
  const { continued, deadline, timedOut, incarnation, leaseVersionBase } = run;
  return [
    ...breaches("run", [
      [
        !timedOut || (deadline !== undefined && run.cancelRequestedAtMs >= deadline.atMs),
        "to have been stopped at its deadline or later when it timed out",
        `${run.cancelRequestedAtMs}`,
      ],
      [
        deadline === undefined ||
          (deadline.atMs > 0 && (deadline.timeoutMs > 0 || deadline.ofParent)),
        "a deadline by a timeout or by its parent",
        `${deadline?.atMs}`,
      ],
    ]),
    ...(continued === undefined
      ? []
      : breaches("run", [
          [incarnation > 1, "a later incarnation when it was continued", `${incarnation}`],
          [
            run.plan.tasks.length === 1 || run.revisions !== undefined,
            "one task in its plan until it is revised",
            `${run.plan.tasks.length}`,
          ],
          [
            continued.leaseVersion > 0 && continued.leaseVersion <= leaseVersionBase,
            `a lease up to ${leaseVersionBase} that continued it`,
            `${continued.leaseVersion}`,
          ],
        ])),
  ];
}
