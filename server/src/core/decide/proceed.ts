import { OperationScope } from "@pawl/proto/v1/operation_pb.js";
import type { IntendOperation } from "../command.js";
import type { DecideContext } from "../context.js";
import { accept, type Decision, type IntentReply } from "../decision.js";
import type { EventBody } from "../event.js";
import type { Operation } from "../state.js";
import type { FoundTask } from "./find.js";

/** What the policies about a known operation need besides run and operation. */
export interface IntentParts {
  readonly command: Pick<IntendOperation, "intentId" | "lease" | "seenThrough" | "keepsLease">;
  readonly found: FoundTask | undefined;
  readonly ctx: DecideContext;
}

/** Tells the caller to call the sink within this time. */
export function proceed(operation: Operation, callMs: number): IntentReply {
  return { case: "proceed", operationKey: operation.declaration.key, callMs };
}

/** Tells the caller that the run is paused: nothing may be called. */
export function answerPaused(operationKey: string, events: readonly EventBody[] = []): Decision {
  return accept(events, {
    existing: events.length === 0,
    intent: { case: "paused", operationKey },
  });
}

/** Another call of a known operation, after `before`. */
export function proceedAgain(
  operation: Operation,
  parts: IntentParts,
  before: readonly EventBody[],
): Decision {
  const { command, found, ctx } = parts;
  const { callTimeoutMs } = operation.declaration;
  const intended: EventBody = {
    case: "operationIntended",
    value: {
      operation: operation.number,
      intentId: command.intentId,
      leaseVersion: command.lease?.leaseVersion ?? 0,
      callByMs: ctx.nowMs + callTimeoutMs,
      seenThrough: command.seenThrough,
      task: found?.task.number ?? 0,
      principal: operation.declaration.scope === OperationScope.NAMESPACE ? ctx.principal : "",
    },
  };
  return accept([...before, intended], {
    existing: false,
    intent: proceed(operation, callTimeoutMs),
  });
}
