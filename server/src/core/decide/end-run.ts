import { LeaseEndReason } from "@pawl/proto/log/v1/event_pb.js";
import { ReviewSubject } from "@pawl/proto/v1/review_pb.js";
import { RunStatus, TaskStatus } from "@pawl/proto/v1/run_pb.js";
import type { CancelRun, TerminateRun } from "../command.js";
import type { DecideContext } from "../context.js";
import { accept, acceptExisting, type Decision, reject } from "../decision.js";
import type { EventBody } from "../event.js";
import { staleVersion } from "../rejection.js";
import type { Run } from "../state.js";
import { isRunOpen } from "../transitions.js";
import { closeMootReviews } from "./close-reviews.js";
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
  const { reason, from } = command;
  const requested: EventBody = {
    case: "cancelRequested",
    value: { reason, principal: ctx.principal, from },
  };
  // A run that is set aside still waits for what becomes of it.
  const moot = closeMootReviews(run, reason, ctx, ReviewSubject.TASK);
  return accept([requested, ...moot]);
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
  events.push(...closeMootReviews(run, command.reason, ctx));
  return accept(events);
}
