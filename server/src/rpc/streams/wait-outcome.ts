import type { InputOutcomeShape, WaitOutcomeShape } from "@pawl/proto/v1/worker_service_wire.js";
import type { Run, Wait } from "../../core/state.js";
import { partId } from "../views/part-id.js";
import { proposalId } from "../views/proposal-id.js";

/** An outcome with about how many bytes it takes. */
export interface SizedOutcome {
  readonly shape: WaitOutcomeShape;
  readonly bytes: number;
}

/** `pawl.v1.WaitOutcome` of a wait that has ended. */
export function outcomeShape(run: Run, wait: Wait, runNumber: number): SizedOutcome {
  const { declaration, endedEvent, closedAtMs } = wait;
  const { name, key } = declaration;
  const common = { name, key, number: endedEvent, atMs: closedAtMs };
  const outcome = outcomeOf(run, runNumber, wait);
  return { shape: { ...common, outcome }, bytes: bytesMin + contentBytes(outcome) };
}

/** About what an outcome without content takes. */
const bytesMin = 64;

function contentBytes(outcome: WaitOutcomeShape["outcome"]): number {
  switch (outcome.case) {
    case "signal":
      return outcome.value.payload?.length ?? 0;
    case "input": {
      const { answer } = outcome.value;
      return answer.value?.length ?? 0;
    }
    default:
      return 0;
  }
}

function outcomeOf(
  run: Run,
  runNumber: number,
  { ended, declaration }: Wait,
): WaitOutcomeShape["outcome"] {
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
    case "signalTaken": {
      const { payload, principal = "" } = run.signals[outcome.value.signal] ?? {};
      return { case: "signal", value: { payload, principal } };
    }
    case "inputGiven": {
      const { subject } = declaration;
      const number = subject.case === "input" ? subject.value.input : -1;
      return { case: "input", value: inputOutcome(run, runNumber, number) };
    }
    case undefined:
      return { case: undefined };
  }
}

function inputOutcome(run: Run, runNumber: number, number: number): InputOutcomeShape {
  const { answer, declined, principal = "" } = run.inputs[number] ?? {};
  const given =
    answer === undefined ? { case: undefined } : ({ case: "given", value: answer } as const);
  return {
    inputId: partId(runNumber, number, run.incarnation),
    answer: declined === undefined ? given : { case: "declined", value: declined },
    principal,
  };
}
