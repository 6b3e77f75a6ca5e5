import type { FailureShape } from "@pawl/proto/v1/failure_wire.js";
import { decodePayload, encodePayload } from "@pawl/proto/v1/payload_wire.js";
import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import type { DependencyOutputShape } from "@pawl/proto/v1/worker_service_wire.js";
import { nameOfTask } from "../../core/plan/tasks-of-run.js";
import type { Run, Task } from "../../core/state.js";
import { hashOfContent } from "../inline-content.js";
import { shapeOfFailure } from "../views/result-view.js";

/** Bytes of dependency outputs that travel inline with an offer; the rest goes as references, so that no join is too large to be offered. */
const outputBytesMax = 1_048_576;

/** How many failures of dependencies travel whole with an offer: each has at most 16 KiB. The rest goes without data, stack and cause, in few words. */
const wholeFailuresMax = 32;

/** Longest message of a failure that is told in few words, in UTF-16 code units. */
const messageMax = 200;

/** What an offer tells of the tasks that its own needs: how they ended, in this order. */
export function dependencyOutputs(run: Run, needs: readonly number[]): DependencyOutputShape[] {
  let inlineBytes = 0;
  let failures = 0;
  return needs.map((number) => {
    const need = run.tasks[number];
    const output = need?.output;
    inlineBytes += output?.length ?? 0;
    const isInline = output === undefined || inlineBytes <= outputBytesMax;
    const failure = need?.status === TaskStatus.FAILED ? need.failure : undefined;
    failures += failure === undefined ? 0 : 1;
    return {
      task: nameOfTask(run, number),
      output: isInline ? output : referenceTo(output),
      status: need?.status ?? TaskStatus.UNSPECIFIED,
      failure: failure && failureShape(failure, failures <= wholeFailuresMax),
    };
  });
}

function failureShape(failure: NonNullable<Task["failure"]>, isWhole: boolean): FailureShape {
  const shape = shapeOfFailure(failure);
  if (isWhole) {
    return shape;
  }
  const { message } = shape;
  const few = message.length <= messageMax ? message : `${message.slice(0, messageMax)}…`;
  return { ...shape, message: few, stack: "", data: undefined, cause: undefined };
}

/** A payload that names content by its hash; ReadBlob gives it, also when it lies inline in the run. */
function referenceTo(payload: Uint8Array): Uint8Array {
  const shape = decodePayload(payload);
  if (shape.body.case !== "data") {
    return payload;
  }
  const sha256 = hashOfContent(payload, shape.body.value);
  const value = { sha256, sizeBytes: BigInt(shape.body.value.length) };
  return encodePayload({ ...shape, body: { case: "blob", value } });
}
