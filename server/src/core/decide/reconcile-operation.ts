import { OperationStatus } from "@pawl/proto/v1/operation_pb.js";
import { RunStatus } from "@pawl/proto/v1/run_pb.js";
import type { ReconcileOperation } from "../command.js";
import type { DecideContext } from "../context.js";
import { accept, acceptExisting, type Decision, reject } from "../decision.js";
import type { EventBody } from "../event.js";
import { limits } from "../limits.js";
import { isApprovalOver } from "../proposals.js";
import { illegalTransition, notFound, type Rejection } from "../rejection.js";
import type { Operation, Run } from "../state.js";
import { isSettled, operationStatusName } from "../transitions.js";
import { findTask, refuseLease } from "./find.js";
import { answerHeldBack, isUndone } from "./hold-back.js";
import { answerPaused, type IntentParts } from "./proceed.js";
import { askPerson, callAgain } from "./settle-doubt.js";

/**
 * Records what a look-up found, and says what to do now; in a paused run what is absent is not called again (`paused`). Another look-up that cannot tell, sooner than the next one was
 * asked for, is the same one resent: it is answered `existing` and not counted.
 * Refusals, in order: no lease, no task, run over, lease lost, no operation, not in doubt, another call than the one
 * looked up, too early.
 */
export function decideReconcileOperation(
  run: Run,
  command: ReconcileOperation,
  ctx: DecideContext,
): Decision {
  const found = command.lease === undefined ? undefined : findTask(run, command.lease.task);
  const refusal = refuseLease(run, command, found);
  if (refusal !== undefined) {
    return reject(refusal);
  }
  const number = run.operationsByKey.get(command.operationKey);
  const operation = number === undefined ? undefined : run.operations[number];
  if (operation === undefined) {
    return reject(notFound("operation", command.operationKey));
  }
  const operationKey = command.operationKey;
  if (isSettled(operation.status)) {
    return acceptExisting({ existing: true, intent: { case: "reuse", operationKey } });
  }
  const isResent =
    operation.status === OperationStatus.INTENDED && operation.intentId === command.intentId;
  if (isResent && operation.callOpen) {
    const callMs = Math.max(0, operation.callByMs - ctx.nowMs);
    return acceptExisting({ existing: true, intent: { case: "proceed", operationKey, callMs } });
  }
  if (operation.status !== OperationStatus.IN_DOUBT) {
    return reject(notInDoubt(operation));
  }
  if (command.lookedUpIntentId !== operation.intentId) {
    return reject(otherCall(operation));
  }
  const settledAtMs = operation.callByMs + operation.declaration.settleMs;
  if (ctx.nowMs < settledAtMs) {
    return reject(tooEarly(operation, settledAtMs - ctx.nowMs));
  }
  if (command.finding.case === "unknown" && ctx.nowMs < operation.lookUpAtMs) {
    const notBeforeMs = operation.lookUpAtMs - ctx.nowMs;
    return acceptExisting({
      existing: true,
      intent: { case: "lookUp", operationKey, notBeforeMs },
    });
  }
  const parts: IntentParts = {
    command: { ...command, seenThrough: 0 },
    found,
    ctx,
  };
  return record(run, operation, command, parts);
}

function record(
  run: Run,
  operation: Operation,
  command: ReconcileOperation,
  parts: IntentParts,
): Decision {
  const { finding } = command;
  const operationKey = operation.declaration.key;
  if (finding.case === "found") {
    const event = reconciled(
      operation,
      { case: "found", value: finding.value },
      OperationStatus.OBSERVED,
      0,
    );
    return accept([event], { existing: false, intent: { case: "reuse", operationKey } });
  }
  if (finding.case === "absent" && isUndone(operation, parts.found)) {
    const value = { case: "absent", value: {} } as const;
    const event = reconciled(operation, value, OperationStatus.INTENDED, 0);
    return answerHeldBack(operationKey, [event]);
  }
  if (finding.case === "absent") {
    const isPaused = run.status === RunStatus.PAUSED;
    const isOver = !isPaused && isApprovalOver(run, operation, parts.ctx.nowMs);
    const next = isOver ? OperationStatus.IN_DOUBT : OperationStatus.INTENDED;
    const event = reconciled(operation, { case: "absent", value: {} }, next, 0);
    return isPaused
      ? answerPaused(operationKey, [event])
      : callAgain(run, operation, parts, [event]);
  }
  const waitMs = limits.lookUpBackoffMs * 2 ** operation.lookUps;
  const event = reconciled(
    operation,
    { case: "unknown", value: finding.value },
    OperationStatus.IN_DOUBT,
    parts.ctx.nowMs + waitMs,
  );
  if (operation.lookUps + 1 >= limits.lookUpsMax) {
    return askPerson(
      run,
      { ...operation, lookUps: operation.lookUps + 1, failure: finding.value },
      parts,
      { before: [event] },
    );
  }
  return accept([event], {
    existing: false,
    intent: { case: "lookUp", operationKey, notBeforeMs: waitMs },
  });
}

type ReconciledFinding = Extract<EventBody, { case: "operationReconciled" }>["value"]["finding"];

function reconciled(
  operation: Operation,
  finding: ReconciledFinding,
  next: OperationStatus,
  lookUpAtMs: number,
): EventBody {
  return {
    case: "operationReconciled",
    value: { operation: operation.number, finding, next, lookUpAtMs },
  };
}

function notInDoubt(operation: Operation): Rejection {
  return illegalTransition("PAWL_ILLEGAL_TRANSITION", {
    entity: "operation",
    status: operationStatusName(operation.status),
    command: "ReconcileOperation",
    legal: ["intend it again"],
  });
}

function tooEarly(operation: Operation, waitMs: number): Rejection {
  return {
    ...illegalTransition(
      "PAWL_TOO_EARLY",
      {
        entity: "operation",
        status: operationStatusName(operation.status),
        command: "decide about it",
        legal: [`wait ${waitMs} ms`],
      },
      `Expected the last call of "${operation.declaration.key}" to be over and settled, but it may still take effect for ${waitMs} ms. Next: ask again then.`,
    ),
    retryAfterMs: waitMs,
  };
}

function otherCall(operation: Operation): Rejection {
  return illegalTransition(
    "PAWL_STALE_INTENT",
    {
      entity: "operation",
      status: operationStatusName(operation.status),
      command: "ReconcileOperation",
      legal: ["look up the latest call"],
    },
    `Expected a look-up of the latest call of "${operation.declaration.key}", but another one was made since. Next: look it up again.`,
  );
}
