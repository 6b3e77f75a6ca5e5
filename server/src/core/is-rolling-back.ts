import type { Run, Task } from "./state.js";
import { isTaskClosed } from "./transitions.js";

/** True while another task rolls this one back, or is about to: it settles what is in doubt. */
export function isRollingBack(
  run: Pick<Run, "tasks" | "rollbacksDue">,
  { number, rollback }: Pick<Task, "number" | "rollback">,
): boolean {
  const other = typeof rollback === "number" ? run.tasks[rollback] : undefined;
  return run.rollbacksDue.has(number) || (other !== undefined && !isTaskClosed(other.status));
}
