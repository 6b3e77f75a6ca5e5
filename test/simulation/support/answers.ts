import type { ProposalStatus } from "@pawl/proto/v1/proposal_status_pb.js";
import type { RunStatus } from "@pawl/proto/v1/run_pb.js";
import type { Command } from "@pawl/server/core/command.js";
import type { Run } from "@pawl/server/core/state.js";
import type { Outcome, Target } from "@pawl/server/kernel/outcome.js";

/** A command and whom it is for. */
export interface Order {
  readonly target: Target;
  readonly command: Command;
}

/** What an intent was answered, with all that its caller needs: taken from the state at the decision. */
export type IntentAnswer =
  | {
      readonly case: "proceed";
      readonly key: string;
      readonly callMs: number;
      readonly payload: Uint8Array;
    }
  | {
      readonly case: "reuse";
      readonly key: string;
      readonly result: Uint8Array | undefined;
      readonly isNo: boolean;
    }
  | {
      readonly case: "lookUp";
      readonly key: string;
      readonly notBeforeMs: number;
      readonly intentId: string;
    }
  | { readonly case: "wait"; readonly key: string; readonly notBeforeMs: number }
  | { readonly case: "review"; readonly key: string }
  | { readonly case: "paused"; readonly key: string }
  | { readonly case: "heldBack"; readonly key: string }
  | {
      readonly case: "awaiting";
      readonly key: string;
      readonly proposal: number;
      readonly status: ProposalStatus;
    };

/** What a command was answered. */
export type Answer =
  | {
      readonly accepted: true;
      readonly existing: boolean;
      readonly runNumber: number;
      /** Events of the run when it was decided: all of them must be durable when the answer leaves. */
      readonly eventCount: number;
      readonly intent: IntentAnswer | undefined;
      readonly step: Uint8Array | undefined;
      /** Number of the obligation; undefined: it was about none, or the other run has answered. */
      readonly owed: number | undefined;
      /** Number of the obligation; undefined: it was about none. */
      readonly obligation: number | undefined;
      /** Status of the run. */
      readonly status: RunStatus;
    }
  | {
      readonly accepted: false;
      readonly reason: string;
      readonly message: string;
      readonly retryAfterMs: number | undefined;
    };

/** Computes an answer at the decision, as the edge does. */
export function answerOf(outcome: Outcome): Answer {
  if (!outcome.accepted) {
    const { reason, message, retryAfterMs } = outcome.rejection;
    return { accepted: false, reason, message, retryAfterMs };
  }
  const { reply, run, runNumber } = outcome;
  return {
    accepted: true,
    existing: reply.existing,
    runNumber,
    eventCount: run.eventCount,
    intent: intentOf(run, reply.intent),
    step: reply.step?.value?.slice(),
    obligation: reply.obligation,
    owed: run.openObligations.has(reply.obligation ?? -1) ? reply.obligation : undefined,
    status: run.status,
  };
}

function intentOf(
  run: Run,
  reply: Extract<Outcome, { accepted: true }>["reply"]["intent"],
): IntentAnswer | undefined {
  if (reply === undefined) {
    return undefined;
  }
  const key = reply.operationKey;
  if (reply.case === "paused" || reply.case === "heldBack") {
    return { case: reply.case, key };
  }
  if (reply.case === "awaiting") {
    const { proposal, status } = reply;
    return { case: "awaiting", key, proposal, status };
  }
  if (reply.case === "wait") {
    return { case: "wait", key, notBeforeMs: reply.notBeforeMs };
  }
  if (reply.case === "review") {
    return { case: "review", key };
  }
  const operation = run.operations[run.operationsByKey.get(key) ?? -1];
  if (operation === undefined) {
    throw new Error(`expected an operation ${key}, but there is none`);
  }
  switch (reply.case) {
    case "proceed":
      return {
        case: "proceed",
        key,
        callMs: reply.callMs,
        payload: (operation.declaration.payload ?? new Uint8Array(0)).slice(),
      };
    case "reuse":
      return {
        case: "reuse",
        key,
        result: operation.result?.slice(),
        isNo: operation.failure !== undefined,
      };
    case "lookUp":
      return {
        case: "lookUp",
        key,
        notBeforeMs: reply.notBeforeMs,
        intentId: operation.intentId,
      };
  }
}
