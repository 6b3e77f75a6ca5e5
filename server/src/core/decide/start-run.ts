import type { StartRun } from "../command.js";
import type { DecideContext } from "../context.js";
import { accept, acceptExisting, type Decision, reject } from "../decision.js";
import type { EventBody } from "../event.js";
import { equalBytes } from "../identity/content-digest.js";
import { fingerprintConflict } from "../rejection.js";
import type { Run } from "../state.js";
import { decideSendSignal, receivedSignal } from "./send-signal.js";

/**
 * Begins a run. An existing one with the same fingerprint is answered `existing`, another fingerprint is refused; a signal beside the
 * start reaches it too. Refusals, in order: fingerprint conflict, those of the signal.
 */
export function decideStartRun(
  run: Run | undefined,
  command: StartRun,
  ctx: DecideContext,
): Decision {
  if (run !== undefined) {
    return equalBytes(run.fingerprint, command.fingerprint)
      ? signalExisting(run, command, ctx)
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
  const started: EventBody[] = [
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
  ];
  if (command.signal !== undefined) {
    started.push(receivedSignal(command.signal, ctx));
  }
  return accept(started);
}

/** A signal beside a start that finds the run: the run exists, whatever the signal changes. */
function signalExisting(run: Run, { signal }: StartRun, ctx: DecideContext): Decision {
  if (signal === undefined) {
    return acceptExisting();
  }
  const command = { kind: "SendSignal", ...signal, expectedVersion: undefined } as const;
  const decision = decideSendSignal(run, command, ctx);
  return decision.accepted ? { ...decision, reply: { existing: true } } : decision;
}
