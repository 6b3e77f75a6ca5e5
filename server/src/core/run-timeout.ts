import type { RunDeadlineShape } from "@pawl/proto/log/v1/event_wire.js";
import type { Run } from "./state.js";
import { formatLength } from "./view/format-length.js";

/** When a run that begins now is ended if it is still open: after its own timeout, or with its parent, whichever is earlier. Undefined: never. */
export function deadlineOf(
  {
    runTimeoutMs,
    deadlineMs,
  }: { readonly runTimeoutMs?: number | undefined; readonly deadlineMs?: number | undefined },
  nowMs: number,
): RunDeadlineShape | undefined {
  if (runTimeoutMs === undefined && deadlineMs === undefined) {
    return undefined;
  }
  const ownMs = runTimeoutMs === undefined ? Number.POSITIVE_INFINITY : nowMs + runTimeoutMs;
  const ofParent = deadlineMs !== undefined && deadlineMs < ownMs;
  return { atMs: ofParent ? deadlineMs : ownMs, timeoutMs: runTimeoutMs ?? 0, ofParent };
}

/** Why a run is stopped whose deadline has passed. */
export function timedOutReason({ deadline }: Pick<Run, "deadline">): string {
  return deadline?.ofParent === true
    ? "The run timeout of its parent is over."
    : `It took longer than its run timeout of ${formatLength(deadline?.timeoutMs ?? 0)}.`;
}
