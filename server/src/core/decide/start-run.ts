import type { StartRun } from "../command.js";
import type { DecideContext } from "../context.js";
import { accept, acceptExisting, type Decision, reject } from "../decision.js";
import { equalBytes } from "../identity/content-digest.js";
import { fingerprintConflict } from "../rejection.js";
import type { Run } from "../state.js";

/**
 * Begins a run. An existing one with the same fingerprint is answered `existing`, another fingerprint is refused.
 * Refusals, in order: fingerprint conflict.
 */
export function decideStartRun(
  run: Run | undefined,
  command: StartRun,
  ctx: DecideContext,
): Decision {
  if (run !== undefined) {
    return equalBytes(run.fingerprint, command.fingerprint)
      ? acceptExisting()
      : reject(
          fingerprintConflict({
            entity: "run",
            id: command.runId,
            recorded: run.fingerprint,
            received: command.fingerprint,
            differs: run.workflow === command.workflow ? "input" : "workflow",
          }),
        );
  }
  return accept([
    {
      case: "runStarted",
      value: {
        namespace: command.namespace,
        runId: command.runId,
        incarnation: 1,
        workflow: command.workflow,
        plan: command.plan.bytes,
        input: command.input,
        fingerprint: command.fingerprint,
        labels: command.labels.map((label) => ({ ...label })),
        traceparent: command.traceparent,
        principal: ctx.principal,
      },
    },
  ]);
}
