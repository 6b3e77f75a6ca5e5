import type { TaskChangeOrder } from "@pawl/server/core/command.js";
import { planTask } from "../../core/support/plans.js";

/** Everything that an operator may change about a task. */
export const changes: readonly TaskChangeOrder[] = [
  { case: "backoffSkipped" },
  { case: "completed", output: undefined },
  { case: "attemptsReset" },
  { case: "failed" },
  {
    case: "policy",
    retry: planTask("x", { retry: { attemptsMax: 7 } }).retry,
    timeouts: undefined,
  },
  {
    case: "policy",
    retry: undefined,
    timeouts: planTask("x", { scheduleToCloseMs: 90_000, leaseMs: 9000 }).timeouts,
  },
];
