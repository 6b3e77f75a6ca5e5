import { OperationStatus } from "@pawl/proto/v1/operation_pb.js";
import { ReviewChoice } from "@pawl/proto/v1/review_pb.js";
import type { ObservedOutcome, ObserveOperation } from "../command.js";
import type { DecideContext } from "../context.js";
import { accept, acceptExisting, type Decision, reject } from "../decision.js";
import type { EventBody } from "../event.js";
import { equalBytes } from "../identity/content-digest.js";
import { holds } from "../lease-standing.js";
import { fingerprintConflict, illegalTransition, notFound } from "../rejection.js";
import type { Operation, Run } from "../state.js";
import { isSettled, operationStatusName } from "../transitions.js";
import { endReviewWaits } from "./end-review-waits.js";

/**
 * Records how a call ended. It is taken also when the lease is gone or the run is over: then it changes no task. A result
 * or refusal of the latest call is taken even after a person said that it had no effect, while no other call was made.
 * Refusals, in order: no operation, another observation than the recorded one, an intent that is not the latest, an
 * unknown outcome of a call that is known to be over.
 */
export function decideObserveOperation(
  run: Run,
  command: ObserveOperation,
  ctx: DecideContext,
): Decision {
  const number = run.operationsByKey.get(command.operationKey);
  const operation = number === undefined ? undefined : run.operations[number];
  if (operation === undefined) {
    return reject(notFound("operation", command.operationKey));
  }
  if (isSettled(operation.status)) {
    return answerSettled(operation, command, ctx);
  }
  if (operation.intentId !== command.intentId) {
    return reject(staleIntent(operation));
  }
  if (saysNothingNew(operation, command.outcome)) {
    return acceptExisting({ existing: true, operation });
  }
  if (isClosed(operation) && command.outcome.case === "unknown") {
    return reject(noOpenCall(operation));
  }
  return accept(observe(run, operation, command), { existing: false, operation });
}

/** True while the latest call is known to be over without an effect, or a person said so. */
function isClosed(operation: Operation): boolean {
  return operation.status === OperationStatus.INTENDED && !operation.callOpen;
}

/** A repeat, or a word about the latest call that leaves the doubt about an earlier one as it is. */
function saysNothingNew(operation: Operation, outcome: ObservedOutcome): boolean {
  const isInDoubt = operation.status !== OperationStatus.INTENDED;
  switch (outcome.case) {
    case "notSent":
      return isInDoubt ? operation.earlierDoubt : !operation.callOpen;
    case "unknown":
      return isInDoubt;
    case "result":
    case "refused":
      return false;
  }
}

/** That the latest call never left settles only that call: an earlier one that is in doubt stays so. */
function statusAfter(operation: Operation, outcome: ObservedOutcome): OperationStatus {
  switch (outcome.case) {
    case "result":
      return OperationStatus.OBSERVED;
    case "refused":
      return OperationStatus.REFUSED;
    case "notSent":
      return operation.earlierDoubt ? OperationStatus.IN_DOUBT : OperationStatus.INTENDED;
    case "unknown":
      return OperationStatus.IN_DOUBT;
  }
}

function observe(run: Run, operation: Operation, command: ObserveOperation): EventBody[] {
  const task = run.tasks[operation.task];
  const isLate =
    run.kind === "ledger"
      ? operation.status !== OperationStatus.INTENDED
      : task === undefined || !holds(task, operation.leaseVersion);
  const events: EventBody[] = [
    ...endReviewWaits(run, operation.openReview),
    {
      case: "operationObserved",
      value: {
        operation: operation.number,
        intentId: command.intentId,
        outcome: { ...command.outcome },
        next: statusAfter(operation, command.outcome),
        late: isLate,
        seenThrough: isLate ? 0 : command.seenThrough,
      },
    },
  ];
  if (operation.openReview !== undefined) {
    const isDone = command.outcome.case === "result" || command.outcome.case === "refused";
    events.push({
      case: "reviewResolved",
      value: {
        review: operation.openReview,
        choice: isDone ? ReviewChoice.DONE : ReviewChoice.RETRY,
        reason: "A late observation of the call settled it.",
        principal: "",
      },
    });
  }
  return events;
}

function answerSettled(
  operation: Operation,
  command: ObserveOperation,
  ctx: DecideContext,
): Decision {
  const { outcome } = command;
  if (outcome.case === "unknown" || outcome.case === "notSent") {
    return operation.settledIntentId === command.intentId
      ? reject(writeOnce(operation, ctx.sha256(new Uint8Array(0)), ctx))
      : acceptExisting({ existing: true, operation });
  }
  const isSame =
    outcome.case === "result"
      ? operation.status === OperationStatus.OBSERVED &&
        operation.result !== undefined &&
        equalBytes(operation.result, outcome.value)
      : operation.status === OperationStatus.REFUSED;
  const received =
    outcome.case === "result" ? ctx.sha256(outcome.value) : ctx.sha256(new Uint8Array(0));
  return isSame
    ? acceptExisting({ existing: true, operation })
    : reject(writeOnce(operation, received, ctx));
}

function writeOnce(
  operation: Operation,
  received: Uint8Array,
  ctx: DecideContext,
): Parameters<typeof reject>[0] {
  return fingerprintConflict({
    entity: "operation",
    id: operation.declaration.key,
    recorded: ctx.sha256(operation.result ?? new Uint8Array(0)),
    received,
    differs: "observation",
  });
}

function staleIntent(operation: Operation): Parameters<typeof reject>[0] {
  return illegalTransition(
    "PAWL_STALE_INTENT",
    {
      entity: "operation",
      status: operationStatusName(operation.status),
      command: "ObserveOperation",
      legal: ["observe the latest intent"],
    },
    `Expected an observation of the latest call of "${operation.declaration.key}", but a later one was intended since. Nothing was changed. Next: leave it; the latest call tells the outcome.`,
  );
}

function noOpenCall(operation: Operation): Parameters<typeof reject>[0] {
  return illegalTransition(
    "PAWL_STALE_INTENT",
    {
      entity: "operation",
      status: operationStatusName(operation.status),
      command: "ObserveOperation",
      legal: ["intend it again", "observe a result or a refusal"],
    },
    `Expected an open call of "${operation.declaration.key}", but its latest call was recorded as having had no effect. Nothing was changed. Next: intend it again before it is called again.`,
  );
}
