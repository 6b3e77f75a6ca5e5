import type { WaitOutcomeShape } from "@pawl/proto/v1/worker_service_wire.js";
import type { Run, Wait } from "../../core/state.js";
import { proposalId } from "../views/proposal-id.js";

/** An outcome with about how many bytes it takes. */
export interface SizedOutcome {
  readonly shape: WaitOutcomeShape;
  readonly bytes: number;
}

/** `pawl.v1.WaitOutcome` of a wait that has ended. */
export function outcomeShape(_run: Run, wait: Wait, runNumber: number): SizedOutcome {
  const { declaration, endedEvent, closedAtMs } = wait;
  const { name, key } = declaration;
  const common = { name, key, number: endedEvent, atMs: closedAtMs };
  return { shape: { ...common, outcome: outcomeOf(wait, runNumber) }, bytes: bytesMin };
}

/** About what an outcome without content takes. */
const bytesMin = 64;

function outcomeOf({ ended }: Wait, runNumber: number): WaitOutcomeShape["outcome"] {
  const outcome = ended?.outcome;
  switch (outcome?.case) {
    case "timerFired":
      return { case: "timer", value: {} };
    case "timedOut":
      return { case: "timedOut", value: {} };
    case "proposal": {
      const { proposal, status, principal, reason } = outcome.value;
      const value = { proposalId: proposalId(runNumber, proposal), status, principal, reason };
      return { case: "proposal", value };
    }
    case undefined:
      return { case: undefined };
  }
}
