import { type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { PayloadSchema } from "@pawl/proto/v1/payload_pb.js";
import type { SendSignalRequest, SendSignalResponseSchema } from "@pawl/proto/v1/run_service_pb.js";
import { admit } from "../admission.js";
import { executeOne } from "../answers.js";
import type { CallContext } from "../call-scope.js";
import { signalParts } from "../commands/signal.js";
import type { Edge } from "../edge.js";
import { requireNumber } from "../validate/fields.js";
import { targetOfRun } from "./requests.js";

/** Sends a signal into a run. */
export async function sendSignal(
  edge: Edge,
  request: SendSignalRequest,
  call: CallContext,
): Promise<MessageInitShape<typeof SendSignalResponseSchema>> {
  const target = targetOfRun(request);
  const { name, requestId, expectedVersion } = request;
  const payload =
    request.payload === undefined ? undefined : toBinary(PayloadSchema, request.payload);
  if (expectedVersion !== undefined) {
    requireNumber(expectedVersion, "expected_version", { min: 1, max: 0xffff_ffff });
  }
  const parts = signalParts({ name, requestId, payload }, "");
  const admitted = await admit(edge, target, payload, "payload");
  const recorded = admitted === undefined ? parts : { ...parts, payload: admitted };
  const command = { kind: "SendSignal", ...recorded, expectedVersion } as const;
  const { value, position } = await executeOne(
    edge,
    { target, command },
    call.caller,
    ({ reply, run }) => ({ existing: reply.existing, version: run.version }),
  );
  return { ...value, position };
}
