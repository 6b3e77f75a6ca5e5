import { DoubtCause, LeaseEndReason } from "@pawl/proto/log/v1/event_pb.js";
import { OperationStatus, SinkKind } from "@pawl/proto/v1/operation_pb.js";
import { ReviewSubject } from "@pawl/proto/v1/review_pb.js";
import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { accept, acceptExisting, type Decision } from "../decision.js";
import type { EventBody } from "../event.js";
import { mustStop } from "../lease-standing.js";
import { isApprovalOver } from "../proposals.js";
import type { Operation, Run, Task } from "../state.js";
import { doubtOpenCalls } from "./doubts.js";
import { openReview } from "./open-review.js";
import { type IntentParts, proceedAgain } from "./proceed.js";

/**
 * What to do about an operation whose outcome is unknown, by its sink's policy: idempotent inside its key window → call
 * again with the same key; reconcilable → look it up, not before `call_by + settle`; otherwise a person decides, also
 * not before then, since a frozen caller could still act.
 */
export function answerDoubt(run: Run, operation: Operation, parts: IntentParts): Decision {
  if (operation.openReview !== undefined) {
    return waitForReview(run, operation, parts, { review: operation.openReview, before: [] });
  }
  const doubted: EventBody[] =
    operation.status === OperationStatus.INTENDED
      ? [
          {
            case: "operationDoubted",
            value: { operation: operation.number, cause: DoubtCause.CALL_OVERDUE },
          },
        ]
      : [];
  const { declaration } = operation;
  if (isInsideKeyWindow(operation, parts.ctx.nowMs)) {
    return callAgain(run, operation, parts, doubted);
  }
  const settledAtMs = operation.callByMs + declaration.settleMs;
  const operationKey = declaration.key;
  if (declaration.sinkKind === SinkKind.RECONCILABLE) {
    const notBeforeMs = Math.max(
      0,
      settledAtMs - parts.ctx.nowMs,
      operation.lookUpAtMs - parts.ctx.nowMs,
    );
    const reply = {
      existing: doubted.length === 0,
      intent: { case: "lookUp", operationKey, notBeforeMs },
    } as const;
    return doubted.length === 0 ? acceptExisting(reply) : accept(doubted, reply);
  }
  if (parts.ctx.nowMs < settledAtMs) {
    const notBeforeMs = settledAtMs - parts.ctx.nowMs;
    return acceptExisting({ existing: true, intent: { case: "wait", operationKey, notBeforeMs } });
  }
  return askPerson(run, operation, parts, { before: doubted });
}

/**
 * Another call of a known operation, after `before`. When it consumed an approval whose time is over by now, a person is asked instead: what
 * was approved was to happen by then.
 */
export function callAgain(
  run: Run,
  operation: Operation,
  parts: IntentParts,
  before: readonly EventBody[],
): Decision {
  if (!isApprovalOver(run, operation, parts.ctx.nowMs)) {
    return proceedAgain(operation, parts, before);
  }
  const isDoubted = operation.status === OperationStatus.IN_DOUBT || before.length > 0;
  const doubt: EventBody = {
    case: "operationDoubted",
    value: { operation: operation.number, cause: DoubtCause.APPROVAL_OVER },
  };
  return askPerson(run, operation, parts, {
    before: isDoubted ? before : [...before, doubt],
    isApprovalOver: true,
  });
}

function isInsideKeyWindow(operation: Operation, nowMs: number): boolean {
  const { sinkKind, keyWindowEndsMs, callTimeoutMs, settleMs } = operation.declaration;
  // A call begun now may take effect as late as its timeout and the settle time: it must still find the key remembered.
  return sinkKind === SinkKind.IDEMPOTENT && nowMs + callTimeoutMs + settleMs <= keyWindowEndsMs;
}

/** Opens a review after `before`; see `waitForReview`. */
export function askPerson(
  run: Run,
  operation: Operation,
  parts: IntentParts,
  ask: { readonly before: readonly EventBody[]; readonly isApprovalOver?: boolean },
): Decision {
  const opened = openReview(run, {
    subject: ReviewSubject.OPERATION,
    operation,
    task: parts.found?.task.number ?? operation.task,
    isApprovalOver: ask.isApprovalOver ?? false,
  });
  return waitForReview(run, operation, parts, {
    review: run.reviews.length,
    before: [...ask.before, opened],
  });
}

/**
 * Says that a person must decide, after `before`. The task gives its lease back and waits for that, unless its worker goes on with the rest of it: it then waits for the
 * review like for anything else.
 */
export function waitForReview(
  run: Run,
  operation: Operation,
  parts: IntentParts,
  wait: { readonly review: number; readonly before: readonly EventBody[] },
): Decision {
  const { found, command } = parts;
  const events = [...wait.before];
  const keepsLease = found !== undefined && goesOn(run, found.task, parts);
  if (found !== undefined && command.lease !== undefined && !keepsLease) {
    const { task } = found;
    const isCancelled = mustStop(run, task);
    events.push(
      ...doubtOpenCalls(run, task.number, task.leaseVersion).filter(
        (event) => !isAbout(event, operation),
      ),
      {
        case: "leaseEnded",
        value: {
          task: task.number,
          leaseVersion: task.leaseVersion,
          reason: LeaseEndReason.REVIEW,
          next: isCancelled ? TaskStatus.CANCELLED : TaskStatus.NEEDS_REVIEW,
          readyAtMs: 0,
          unacknowledgedOffers: 0,
          review: wait.review,
          usesAttempt: false,
          attempt: task.attempt,
          workerLosses: 0,
          note: "",
        },
      },
    );
  }
  const intent = {
    case: "review",
    operationKey: operation.declaration.key,
    review: wait.review,
    keepsLease,
  } as const;
  return accept(events, { existing: events.length === 0, intent });
}

/** What was asked to stop waits for nobody, and what rolls back does nothing else meanwhile. */
function goesOn(run: Run, task: Task, { command }: IntentParts): boolean {
  return (
    command.keepsLease === true &&
    command.lease !== undefined &&
    !mustStop(run, task) &&
    task.rollsBack === undefined
  );
}

/** The operation under review is doubted by its own event already. */
function isAbout(event: EventBody, operation: Operation): boolean {
  return event.case === "operationDoubted" && event.value.operation === operation.number;
}
