import type { FailureShape } from "@pawl/proto/v1/failure_wire.js";
import { RunStatus } from "@pawl/proto/v1/run_pb.js";
import type { RunResultShape } from "@pawl/proto/v1/run_wire.js";
import type { Run } from "../../core/state.js";

/** `pawl.v1.RunResult` of a run that has ended, as the wire codec writes it: its output is passed on as it was received. */
export function resultShape(run: Run): RunResultShape {
  const { runId, incarnation, status } = run;
  return {
    runId,
    incarnation,
    status,
    output: status === RunStatus.COMPLETED ? outputOf(run) : undefined,
    failure: failureOf(run),
  };
}

/** Output of a run: that of the task which its plan names. */
export function outputOf(run: Run): Uint8Array | undefined {
  const { output } = run.plan;
  return output === undefined ? undefined : run.tasks[output]?.output;
}

/** Why a run did not complete. The state is read-only here, the codec's type is not, though it only reads. */
function failureOf(run: Run): FailureShape | undefined {
  return run.failure === undefined ? undefined : shapeOfFailure(run.failure);
}

/** A failure of the state in the codec's type. */
export function shapeOfFailure(failure: NonNullable<Run["failure"]>): FailureShape {
  const { cause } = failure;
  return { ...failure, cause: cause === undefined ? undefined : shapeOfFailure(cause) };
}
