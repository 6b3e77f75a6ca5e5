import { LeaseEndReason } from "@pawl/proto/log/v1/event_pb.js";
import type { FailureShape } from "@pawl/proto/v1/failure_wire.js";
import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import type { EndLease } from "../command.js";
import type { DecideContext } from "../context.js";
import { accept, acceptExisting, type Decision, reject } from "../decision.js";
import type { EventBody, EventValue } from "../event.js";
import { holds, leaseLost, mustStop } from "../lease-standing.js";
import { limits } from "../limits.js";
import { decideRetry } from "../retry.js";
import type { Run } from "../state.js";
import { doubtOpenCalls } from "./doubts.js";
import { type FoundTask, findTask, taskNotFound } from "./find.js";
import { kernelFailure } from "./kernel-failure.js";
import { openTaskReview } from "./open-review.js";

/**
 * Ends a lease without a report. Refusals, in order: no task, lease lost. A return of a lease that was returned
 * before is answered `existing`.
 */
export function decideEndLease(run: Run, command: EndLease, ctx: DecideContext): Decision {
  const found = findTask(run, command.task);
  if (found === undefined) {
    return reject(taskNotFound(command.task));
  }
  const { task } = found;
  if (!holds(task, command.leaseVersion)) {
    const isRepeat =
      command.reason === LeaseEndReason.RETURNED &&
      task.leaseVersion === command.leaseVersion &&
      task.leaseEndReason === LeaseEndReason.RETURNED;
    return isRepeat ? acceptExisting() : reject(leaseLost(task, command.leaseVersion));
  }
  return accept(endLease(run, found, command, ctx));
}

/** The events of a lease's end: what was under way becomes unknown, and the task goes where reason and policy say. */
export function endLease(
  run: Run,
  found: FoundTask,
  command: Pick<EndLease, "reason" | "delayMs" | "progress" | "note">,
  ctx: DecideContext,
): EventBody[] {
  const { task } = found;
  const events = doubtOpenCalls(run, task.number, task.leaseVersion);
  const following = whatFollows(run, found, command, ctx);
  if (following.next === TaskStatus.NEEDS_REVIEW && following.failure !== undefined) {
    events.push(openTaskReview(run, found, following.failure, following.workerLosses ?? 0));
  }
  events.push({
    case: "leaseEnded",
    value: {
      task: task.number,
      leaseVersion: task.leaseVersion,
      attempt: task.attempt,
      reason: command.reason,
      review: following.next === TaskStatus.NEEDS_REVIEW ? run.reviews.length : 0,
      unacknowledgedOffers: 0,
      workerLosses: 0,
      progress: command.progress,
      note: command.note ?? "",
      ...following,
    },
  });
  return events;
}

type Following = Pick<EventValue<"leaseEnded">, "next" | "readyAtMs" | "usesAttempt"> &
  Partial<Pick<EventValue<"leaseEnded">, "failure" | "unacknowledgedOffers" | "workerLosses">>;

function whatFollows(
  run: Run,
  found: FoundTask,
  command: Pick<EndLease, "reason" | "delayMs">,
  ctx: DecideContext,
): Following {
  if (mustStop(run, found.task) || command.reason === LeaseEndReason.TERMINATED) {
    return { next: TaskStatus.CANCELLED, readyAtMs: 0, usesAttempt: true };
  }
  switch (command.reason) {
    case LeaseEndReason.EXPIRED:
      return retryAfter(found, lostWorker(found), ctx, true);
    case LeaseEndReason.TIMED_OUT:
      return retryAfter(found, timedOut(found), ctx, false);
    case LeaseEndReason.NOT_ACKNOWLEDGED:
      return afterUnacknowledged(found, ctx);
    default: {
      // Whoever gives a task back is alive; of the others nothing is known.
      const workerLosses = command.reason === LeaseEndReason.RETURNED ? 0 : lossesOf(found);
      const base = { usesAttempt: false, workerLosses } as const;
      return command.delayMs > 0
        ? { ...base, next: TaskStatus.BACKOFF, readyAtMs: ctx.nowMs + command.delayMs }
        : { ...base, next: TaskStatus.READY, readyAtMs: 0 };
    }
  }
}

function lossesOf({ task }: FoundTask): number {
  return task.trouble?.workerLosses ?? 0;
}

function retryAfter(
  found: FoundTask,
  failure: FailureShape,
  ctx: DecideContext,
  isLoss: boolean,
): Following {
  const retry = decideRetry(found, failure, ctx, { lostWorker: isLoss });
  return { ...retry, usesAttempt: true, failure };
}

/** Offers that nobody acknowledges use no attempt, but five in a row count as one: else a poison task would go round for ever. */
function afterUnacknowledged(found: FoundTask, ctx: DecideContext): Following {
  const unacknowledgedOffers = found.task.unacknowledgedOffers + 1;
  if (unacknowledgedOffers < limits.unacknowledgedOffersMax) {
    const workerLosses = lossesOf(found);
    const base = { usesAttempt: false, unacknowledgedOffers, workerLosses } as const;
    return { ...base, next: TaskStatus.READY, readyAtMs: 0 };
  }
  const failure = kernelFailure(
    "OfferNotAcknowledged",
    "PAWL_OFFER_NOT_ACKNOWLEDGED",
    `Expected a worker to acknowledge the offer, but ${unacknowledgedOffers} offers in a row were not acknowledged.`,
    true,
  );
  return retryAfter(found, failure, ctx, true);
}

function lostWorker(found: FoundTask): FailureShape {
  const { task, spec } = found;
  return kernelFailure(
    "LeaseExpired",
    "PAWL_LEASE_EXPIRED",
    `Expected worker "${task.worker}" to renew its lease within ${spec.leaseMs} ms, but it did not: it died, hung or was cut off.`,
    true,
  );
}

function timedOut(found: FoundTask): FailureShape {
  return kernelFailure(
    "TimedOut",
    "PAWL_ATTEMPT_TIMED_OUT",
    `Expected the attempt to end within start-to-close (${found.spec.startToCloseMs} ms), but it did not.`,
    true,
  );
}
