import { runDeadlineMs } from "../deadline.js";
import type { Run } from "../state.js";
import { formatLength } from "./format-length.js";

/** When an open run is ended if nothing ends it before, as a sentence with a space before it; empty when nobody bounded it. */
export function explainDeadline(run: Run, nowMs: number): string {
  const endMs = runDeadlineMs(run);
  if (endMs === undefined) {
    return "";
  }
  const whose =
    run.deadline?.ofParent === true ? "The run timeout of its parent" : "Its run timeout";
  return endMs <= nowMs
    ? ` ${whose} is over, and it is about to be stopped.`
    : ` ${whose} ends it in ${formatLength(endMs - nowMs)}.`;
}

/** How a run ended that ran out of time, as a sentence. */
export function explainTimedOut({ cancelReason, closedAtMs, deadline }: Run): string {
  const lateMs = closedAtMs - (deadline?.atMs ?? closedAtMs);
  const after = lateMs > 0 ? ` What was open of it had ended ${formatLength(lateMs)} later.` : "";
  return `It failed because its time was over. ${cancelReason}${after}`;
}
