import { OperationStatus } from "@pawl/proto/v1/operation_pb.js";
import type { IntentAnswerShape, ReuseShape } from "@pawl/proto/v1/operation_wire.js";
import type { IntentReply } from "../../core/decision.js";
import type { Operation, Run } from "../../core/state.js";
import { partId } from "./part-id.js";
import { proposalId } from "./proposal-id.js";
import { shapeOfFailure } from "./result-view.js";

type Answer = IntentAnswerShape["answer"];

/**
 * `pawl.v1.IntentAnswer` for what the core replied, from the state right after the decision. The recorded content goes out as it
 * was received, and is what must be sent to the sink.
 */
export function intentAnswer(run: Run, reply: IntentReply, runNumber: number): IntentAnswerShape {
  const number = run.operationsByKey.get(reply.operationKey);
  const operation = number === undefined ? undefined : run.operations[number];
  const ids: Ids = {
    ofReview: (review) => partId(runNumber, review, run.incarnation),
    ofProposal: (proposal) => proposalId(runNumber, proposal),
  };
  return { answer: answerOf(operation, reply, ids) };
}

/** Ids of what an answer speaks of by numbers. */
interface Ids {
  readonly ofReview: (review: number) => string;
  readonly ofProposal: (proposal: number) => string;
}

function answerOf(operation: Operation | undefined, reply: IntentReply, ids: Ids): Answer {
  const key = reply.operationKey;
  const uuid = operation?.declaration.uuid ?? "";
  const payload = operation?.declaration.payload;
  switch (reply.case) {
    case "proceed": {
      const planVersion = operation?.declaration.planVersion ?? 1;
      return {
        case: "proceed",
        value: { key, uuid, payload, callMs: Math.ceil(reply.callMs), planVersion },
      };
    }
    case "reuse":
      return { case: "reuse", value: reuseOf(operation, key) };
    case "lookUp": {
      const intendedAt = timestampShape(operation?.intendedAtMs ?? 0);
      return {
        case: "lookUp",
        value: {
          intendedAt,
          notBeforeMs: Math.ceil(reply.notBeforeMs),
          ...{ key, uuid, payload },
          intentId: operation?.intentId ?? "",
        },
      };
    }
    case "wait":
      return { case: "wait", value: { notBeforeMs: Math.ceil(reply.notBeforeMs), key } };
    case "paused":
      return { case: "paused", value: { key } };
    case "heldBack":
      return { case: "heldBack", value: { key } };
    case "awaiting": {
      const { proposal, status, reason } = reply;
      const value = { proposalId: ids.ofProposal(proposal), key, status, reason };
      return { case: "awaiting", value };
    }
    case "review":
      return {
        case: "review",
        value: { reviewId: ids.ofReview(reply.review), key, keepsLease: reply.keepsLease },
      };
  }
}

function reuseOf(operation: Operation | undefined, key: string): ReuseShape {
  return {
    outcome: outcomeOf(operation),
    observedAt: timestampShape(operation?.settledAtMs ?? 0),
    key,
    reconciled: operation?.reconciled ?? false,
    seenThrough: operation?.settledSeenThrough,
    number: operation?.settledEvent ?? 0,
  };
}

function outcomeOf(operation: Operation | undefined): ReuseShape["outcome"] {
  if (operation === undefined) {
    return { case: undefined };
  }
  const { status, result, failure } = operation;
  if (status === OperationStatus.OBSERVED && result !== undefined) {
    return { case: "result", value: result };
  }
  if (failure === undefined) {
    return { case: undefined };
  }
  const value = shapeOfFailure(failure);
  return status === OperationStatus.REFUSED
    ? { case: "refusal", value }
    : { case: "abandoned", value };
}

function timestampShape(ms: number): { seconds: bigint; nanos: number } | undefined {
  if (ms === 0) {
    return undefined;
  }
  const seconds = Math.floor(ms / 1000);
  return { seconds: BigInt(seconds), nanos: Math.round((ms - seconds * 1000) * 1e6) };
}
