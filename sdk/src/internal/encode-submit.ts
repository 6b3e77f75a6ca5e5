import { toBinary } from "@bufbuild/protobuf";
import type { Payload } from "@pawl/proto/v1/payload_pb.js";
import { encodePayload } from "@pawl/proto/v1/payload_wire.js";
import { type Plan, PlanSchema } from "@pawl/proto/v1/plan_pb.js";
import {
  type AwaitRun,
  type StartRun,
  type SubmitRequest,
  SubmitRequestSchema,
} from "@pawl/proto/v1/run_service_pb.js";
import { encodeSubmitRequest, type StartRunShape } from "@pawl/proto/v1/run_service_wire.js";
import { encodedMessage } from "./encoded-message.js";

/** Encoded plans: the runs of a workflow all send the same one. */
const encodedPlans = new WeakMap<Plan, Uint8Array>();

/** A message of the Submit stream, encoded: what most of a client's time would go into otherwise. At least one item. */
export function encodeSubmit(
  namespace: string,
  starts: readonly StartRun[],
  waits: readonly AwaitRun[],
): SubmitRequest {
  const bytes = encodeSubmitRequest({
    namespace,
    starts: starts.map(startShape),
    waits: [...waits],
  });
  return encodedMessage(SubmitRequestSchema, bytes);
}

/** The encoded form of a plan, made once. */
export function encodePlanOnce(plan: Plan): Uint8Array {
  let bytes = encodedPlans.get(plan);
  if (bytes === undefined) {
    bytes = toBinary(PlanSchema, plan);
    encodedPlans.set(plan, bytes);
  }
  return bytes;
}

function startShape(start: StartRun): StartRunShape {
  const { runId, workflow, plan, input, labels, traceparent, correlation, wait } = start;
  return {
    runId,
    workflow,
    plan: plan === undefined ? undefined : encodePlanOnce(plan),
    input: input === undefined ? undefined : encodeInput(input),
    labels,
    traceparent,
    correlation,
    wait,
  };
}

function encodeInput(input: Payload): Uint8Array {
  const { contentType, body, digest, encoding } = input;
  return encodePayload({ contentType, body, digest, encoding });
}
