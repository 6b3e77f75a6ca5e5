import type { ConsumedApprovalShape } from "@pawl/proto/log/v1/event_wire.js";
import { OperationScope, OperationStatus, SinkKind } from "@pawl/proto/v1/operation_pb.js";
import { RunStatus } from "@pawl/proto/v1/run_pb.js";
import type { IntendOperation } from "../command.js";
import type { DecideContext } from "../context.js";
import { accept, acceptExisting, type Decision, reject } from "../decision.js";
import type { EventBody } from "../event.js";
import { limits } from "../limits.js";
import { planVersionOf } from "../plan/plan-versions.js";
import { fingerprintConflict, type Rejection } from "../rejection.js";
import type { Operation, Run } from "../state.js";
import { checkApproval } from "./consume-approval.js";
import { type FoundTask, findTask, refuseLease, runIsFull } from "./find.js";
import { findObstacle, refuseRollback, specOfCode } from "./hold-back.js";
import { keyOfOperation } from "./operation-identity.js";
import { refuseSuccessor } from "./predecessor.js";
import { answerPaused, type IntentParts, proceed } from "./proceed.js";
import { answerCarried, isAskedAgain } from "./reuse-operation.js";
import { answerDoubt, callAgain } from "./settle-doubt.js";

/**
 * Records the intent of an effect, or says what to do instead. In a paused run nothing new is intended: what is settled is reused, an intent
 * that was recorded before the pause is answered as it was, and every other is answered `paused`.
 * Refusals, in order: no lease, no task, run over, lease lost, an undoing under another lease, no such proposal, another action than the proposed one, a guard that is not
 * stated, fingerprint conflict, the same effect of an earlier plan version not settled, too many operations.
 */
export function decideIntendOperation(
  run: Run,
  command: IntendOperation,
  ctx: DecideContext,
): Decision {
  const found = command.lease === undefined ? undefined : findTask(run, command.lease.task);
  const refusal = refuseLease(run, command, found) ?? refuseRollback(found, command);
  if (refusal !== undefined) {
    return reject(refusal);
  }
  const { key, uuid } = keyOfOperation(run, specOfCode(run, found, command), command, ctx);
  const number = run.operationsByKey.get(key);
  const operation = number === undefined ? undefined : run.operations[number];
  const obstacle = findObstacle(run, operation, key, { command, found, ctx });
  if (obstacle !== undefined) {
    return obstacle;
  }
  const approval = checkApproval(run, command, key, ctx);
  if (approval.case === "stop") {
    return approval.decision;
  }
  if (operation !== undefined) {
    return answerSame(run, operation, { command, found, ctx });
  }
  const newRefusal = refuseSuccessor(run, command, found, ctx) ?? refuseFull(run);
  if (newRefusal !== undefined) {
    return reject(newRefusal);
  }
  if (run.status === RunStatus.PAUSED) {
    return answerPaused(key);
  }
  const consumed = approval.case === "consume" ? approval.consumed : undefined;
  return accept([firstIntent(run, command, { key, uuid, found, ctx, consumed })], {
    existing: false,
    intent: { case: "proceed", operationKey: key, callMs: command.callTimeoutMs },
  });
}

function refuseFull({ operations }: Run): Rejection | undefined {
  return operations.length >= limits.operationsMax
    ? runIsFull("IntendOperation", "operations", limits.operationsMax)
    : undefined;
}

interface FirstIntentParts {
  readonly key: string;
  readonly uuid: string;
  readonly found: FoundTask | undefined;
  readonly ctx: DecideContext;
  readonly consumed: ConsumedApprovalShape | undefined;
}

function firstIntent(run: Run, command: IntendOperation, parts: FirstIntentParts): EventBody {
  const { ctx, found } = parts;
  const isNamespace = command.scope === OperationScope.NAMESPACE;
  const isIdempotent = command.sinkKind === SinkKind.IDEMPOTENT;
  return {
    case: "operationIntended",
    value: {
      operation: run.operations.length,
      intentId: command.intentId,
      leaseVersion: command.lease?.leaseVersion ?? 0,
      callByMs: ctx.nowMs + command.callTimeoutMs,
      seenThrough: command.seenThrough,
      task: found?.task.number ?? 0,
      principal: isNamespace ? ctx.principal : "",
      consumed: parts.consumed,
      declaration: {
        key: parts.key,
        uuid: parts.uuid,
        name: command.name,
        scope: command.scope,
        task: found?.task.number ?? 0,
        discriminator: command.key,
        target: command.target,
        payload: command.payload,
        fingerprint: command.fingerprint,
        sinkKind: command.sinkKind,
        keyWindowEndsMs: isIdempotent ? ctx.nowMs + command.keyWindowMs : 0,
        settleMs: command.settleMs,
        callTimeoutMs: command.callTimeoutMs,
        planVersion: planVersionOf(run, found?.task.number ?? 0),
        namespace: isNamespace ? command.namespace : "",
      },
    },
  };
}

function answerSame(
  run: Run,
  operation: Operation,
  parts: IntentParts & { readonly command: IntendOperation },
): Decision {
  if (operation.carried) {
    return answerCarried(run, operation, parts);
  }
  const { declaration } = operation;
  const { fingerprint, target } = parts.command;
  return isAskedAgain(operation, fingerprint)
    ? answerKnown(run, operation, parts)
    : reject(
        fingerprintConflict({
          entity: "operation",
          id: declaration.key,
          recorded: declaration.fingerprint,
          received: fingerprint,
          differs: declaration.target === target ? "payload" : "target",
        }),
      );
}

function answerKnown(run: Run, operation: Operation, parts: IntentParts): Decision {
  switch (operation.status) {
    case OperationStatus.OBSERVED:
    case OperationStatus.REFUSED:
    case OperationStatus.ABANDONED:
      return acceptExisting({
        existing: true,
        intent: { case: "reuse", operationKey: operation.declaration.key },
      });
    case OperationStatus.INTENDED:
      return answerIntended(run, operation, parts);
    default:
      return run.status === RunStatus.PAUSED
        ? answerPaused(operation.declaration.key)
        : answerDoubt(run, operation, parts);
  }
}

function answerIntended(run: Run, operation: Operation, parts: IntentParts): Decision {
  const { command, ctx } = parts;
  const isResent =
    operation.callOpen &&
    operation.intentId === command.intentId &&
    operation.leaseVersion === (command.lease?.leaseVersion ?? 0);
  if (isResent) {
    const callMs = Math.max(0, operation.callByMs - ctx.nowMs);
    return acceptExisting({ existing: true, intent: proceed(operation, callMs) });
  }
  if (run.status === RunStatus.PAUSED) {
    return answerPaused(operation.declaration.key);
  }
  if (!operation.callOpen) {
    return callAgain(run, operation, parts, []);
  }
  const settledAtMs = operation.callByMs + operation.declaration.settleMs;
  if (ctx.nowMs < settledAtMs) {
    const notBeforeMs = settledAtMs - ctx.nowMs;
    return acceptExisting({
      existing: true,
      intent: { case: "wait", operationKey: operation.declaration.key, notBeforeMs },
    });
  }
  return answerDoubt(run, operation, parts);
}
