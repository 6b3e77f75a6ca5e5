import { LeaseEndReason } from "@pawl/proto/log/v1/event_pb.js";
import { ReviewChoice, ReviewSubject } from "@pawl/proto/v1/review_pb.js";
import { RunStatus, TaskStatus } from "@pawl/proto/v1/run_pb.js";
import type { CancelRun, TerminateRun } from "../command.js";
import type { DecideContext } from "../context.js";
import { accept, acceptExisting, type Decision, reject } from "../decision.js";
import type { EventBody } from "../event.js";
import { staleVersion } from "../rejection.js";
import type { Run } from "../state.js";
import { isRunOpen } from "../transitions.js";
import { endLease } from "./end-lease.js";
import { findTask, runOver } from "./find.js";
import { kernelFailure } from "./kernel-failure.js";

/** Asks a run to stop. Refusals, in order: run over (unless it is CANCELLED), stale version. A repeat is answered `existing`. */
export function decideCancelRun(run: Run, command: CancelRun, ctx: DecideContext): Decision {
  if (
    run.status === RunStatus.CANCELLED ||
    (isRunOpen(run.status) && run.cancelRequestedAtMs !== 0)
  ) {
    return acceptExisting();
  }
  if (!isRunOpen(run.status)) {
    return reject(runOver(run, "CancelRun"));
  }
  if (command.expectedVersion !== undefined && command.expectedVersion !== run.version) {
    return reject(staleVersion("run", command.expectedVersion, run.version));
  }
  return accept([
    { case: "cancelRequested", value: { reason: command.reason, principal: ctx.principal } },
  ]);
}

/** Ends a run at once. Refusals, in order: run over (unless it is TERMINATED), stale version. A repeat is answered `existing`. */
export function decideTerminateRun(run: Run, command: TerminateRun, ctx: DecideContext): Decision {
  if (run.status === RunStatus.TERMINATED) {
    return acceptExisting();
  }
  if (!isRunOpen(run.status)) {
    return reject(runOver(run, "TerminateRun"));
  }
  if (command.expectedVersion !== undefined && command.expectedVersion !== run.version) {
    return reject(staleVersion("run", command.expectedVersion, run.version));
  }
  const events: EventBody[] = [];
  for (const task of run.tasks) {
    const found = findTask(run, task.number);
    if (task.status === TaskStatus.LEASED && found !== undefined) {
      const reason = LeaseEndReason.TERMINATED;
      events.push(...endLease(run, found, { reason, delayMs: 0, progress: undefined }, ctx));
    }
  }
  const failure = kernelFailure("Terminated", "PAWL_RUN_TERMINATED", command.reason, false);
  events.push({
    case: "runClosed",
    value: { status: RunStatus.TERMINATED, failure, principal: ctx.principal },
  });
  events.push(...closeRunReviews(run, command, ctx));
  return accept(events);
}

/** A review of the run itself asks whether it may go on: that it ended is the answer. */
function closeRunReviews(run: Run, command: TerminateRun, ctx: DecideContext): EventBody[] {
  return run.reviews
    .filter((review) => review.subject === ReviewSubject.RUN && review.resolvedAtMs === 0)
    .map((review) => ({
      case: "reviewResolved",
      value: {
        review: review.number,
        choice: ReviewChoice.ABANDON,
        reason: command.reason,
        principal: ctx.principal,
      },
    }));
}
