import { FailureOrigin } from "@pawl/proto/v1/failure_pb.js";
import type { FailureShape } from "@pawl/proto/v1/failure_wire.js";
import { ObligationStatus } from "@pawl/proto/v1/obligation_pb.js";
import { RunStatus, TaskStatus } from "@pawl/proto/v1/run_pb.js";
import type {
  CallOutcomeShape,
  ChildOutcomeShape,
  InputOutcomeShape,
  ObligationOutcomeShape,
  WaitOutcomeShape,
} from "@pawl/proto/v1/worker_service_wire.js";
import { nameOfTask } from "../../core/plan/tasks-of-run.js";
import type { Run, Task, Wait } from "../../core/state.js";
import { partId } from "../views/part-id.js";
import { proposalId } from "../views/proposal-id.js";
import { shapeOfFailure } from "../views/result-view.js";
import type { Ended } from "./ended-for.js";

/** An outcome with about how many bytes it takes. */
export interface SizedOutcome {
  readonly shape: WaitOutcomeShape;
  readonly bytes: number;
}

/** `pawl.v1.WaitOutcome` of what has ended. */
export function outcomeShape(run: Run, ended: Ended, runNumber: number): SizedOutcome {
  return ended.kind === "wait"
    ? waitShape(run, ended.wait, runNumber)
    : callShape(run, ended.called);
}

/** How a called task ended. Its name is that of the call. */
function callShape(run: Run, called: Task): SizedOutcome {
  const { number, output, failure, status, closedEvent, closedAtMs } = called;
  const isCompleted = status === TaskStatus.COMPLETED;
  const common = {
    name: nameOfTask(run, number),
    key: undefined,
    number: closedEvent,
    atMs: closedAtMs,
  };
  const end: CallOutcomeShape["end"] = !isCompleted
    ? { case: "failure", value: failure === undefined ? cancelled : shapeOfFailure(failure) }
    : output === undefined
      ? { case: "noOutput", value: {} }
      : { case: "output", value: output };
  const bytes = bytesMin + (isCompleted ? (output?.length ?? 0) : 1024);
  return { shape: { ...common, outcome: { case: "call", value: { end } } }, bytes };
}

/** Of a called task that ended before it failed. */
const cancelled: FailureShape = {
  kind: "Cancelled",
  code: "PAWL_CALL_CANCELLED",
  message: "The task was cancelled before it ended.",
  stack: "",
  retryable: false,
  origin: FailureOrigin.KERNEL,
};

function waitShape(run: Run, wait: Wait, runNumber: number): SizedOutcome {
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
    case "update":
      return outcome.value.payload?.length ?? 0;
    case "child":
      return outcome.value.output?.length ?? 0;
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
      const taken = run.signals[outcome.value.signal];
      const { payload, principal = "", from } = taken ?? {};
      if (taken?.update === true) {
        const { number, requestId: updateId } = taken;
        return { case: "update", value: { number, updateId, payload, principal } };
      }
      return { case: "signal", value: { payload, principal, fromRunId: from?.runId ?? "" } };
    }
    case "child":
      return { case: "child", value: childOutcome(run, outcome.value.obligation) };
    case "obligation":
      return { case: "obligation", value: obligationOutcome(run, outcome.value.obligation) };
    case "review": {
      const reviewId = partId(runNumber, outcome.value.review, run.incarnation);
      return { case: "review", value: { reviewId } };
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

function childOutcome(run: Run, number: number): ChildOutcomeShape {
  const { runId, obligation, status: start } = obligationOutcome(run, number);
  const { status = RunStatus.UNSPECIFIED, output, failure } = run.obligations[number]?.ended ?? {};
  const told = failure === undefined ? undefined : shapeOfFailure(failure);
  return { obligation, runId, start, status, output, failure: told };
}

function obligationOutcome(run: Run, number: number): ObligationOutcomeShape {
  const found = run.obligations[number];
  return {
    obligation: number,
    runId: found?.declaration.runId ?? "",
    status: found?.status ?? ObligationStatus.UNSPECIFIED,
  };
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
