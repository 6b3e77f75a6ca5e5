import { ReviewSubject } from "@pawl/proto/v1/review_pb.js";
import type { DecideContext } from "../context.js";
import { runDeadlineMs } from "../deadline.js";
import { accept, acceptExisting, type Decision } from "../decision.js";
import { timedOutReason } from "../run-timeout.js";
import type { Run } from "../state.js";
import { closeMootReviews } from "./close-reviews.js";

/**
 * Stops a run whose deadline has passed, whatever it waits for, also while it is paused; when everything has ended it is FAILED. Late and repeated ones are
 * harmless: one that was asked to stop before, or is set aside, does nothing.
 */
export function decideExpireRun(run: Run, ctx: DecideContext): Decision {
  const dueMs = runDeadlineMs(run);
  if (dueMs === undefined || ctx.nowMs < dueMs) {
    return acceptExisting();
  }
  const reason = timedOutReason(run);
  const moot = closeMootReviews(run, reason, ctx, ReviewSubject.TASK);
  return accept([{ case: "runTimedOut", value: { reason } }, ...moot]);
}
