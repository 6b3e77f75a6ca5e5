import { OperationScope } from "@pawl/proto/v1/operation_pb.js";
import type { IntendOperation } from "../command.js";
import type { DecideContext } from "../context.js";
import { isEffectOpen } from "../open-effects.js";
import { planVersionOf } from "../plan/plan-versions.js";
import { nameOfTask } from "../plan/tasks-of-run.js";
import type { Rejection } from "../rejection.js";
import type { Operation, Run } from "../state.js";
import { operationStatusName } from "../transitions.js";
import type { FoundTask } from "./find.js";

/** A successor asks again after this long at least, and at most, in ms. */
const waitMsMin = 1_000;
const waitMsMax = 10_000;

/**
 * Refusal of an effect while the same one of an earlier plan version is not settled: nobody knows yet whether it happened, so the new one would perhaps be the second. Undefined in
 * a run that was never revised, which is asked nothing else.
 */
export function refuseSuccessor(
  run: Run,
  command: Pick<IntendOperation, "name" | "scope">,
  found: FoundTask | undefined,
  ctx: Pick<DecideContext, "nowMs">,
): Rejection | undefined {
  if (run.revisions === undefined || found === undefined) {
    return undefined;
  }
  const planVersion = planVersionOf(run, found.task.number);
  for (const number of run.unsettled) {
    const operation = run.operations[number];
    if (
      operation !== undefined &&
      isEffectOpen(operation) &&
      isSameEffect(run, operation, command, found) &&
      operation.declaration.planVersion !== planVersion
    ) {
      return predecessorUnsettled(operation, ctx);
    }
  }
  return undefined;
}

/** The same name and scope, and in scope TASK of a task of the same name, whatever the discriminator: of which call of a loop an older one is nobody can say. */
function isSameEffect(
  run: Run,
  { declaration }: Operation,
  command: Pick<IntendOperation, "name" | "scope">,
  found: FoundTask,
): boolean {
  return (
    declaration.name === command.name &&
    declaration.scope === command.scope &&
    (command.scope !== OperationScope.TASK || nameOfTask(run, declaration.task) === found.spec.name)
  );
}

function predecessorUnsettled(
  { declaration, status, callByMs }: Operation,
  { nowMs }: Pick<DecideContext, "nowMs">,
): Rejection {
  const { key, planVersion, settleMs } = declaration;
  const word = operationStatusName(status);
  const retryAfterMs = Math.min(waitMsMax, Math.max(waitMsMin, callByMs + settleMs - nowMs));
  return {
    reason: "PAWL_PREDECESSOR_UNSETTLED",
    message:
      `Expected the same effect of plan version ${planVersion} to be settled first, but "${key}" is ${word}. ` +
      "Next: send the same intent again later; its late observation, or a person in its review, settles it (pawl reviews list).",
    detail: {
      case: "predecessorUnsettled",
      value: { operationKey: key, status: word, planVersion, retryAfterMs },
    },
    retryAfterMs,
  };
}
