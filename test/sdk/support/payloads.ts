import { create } from "@bufbuild/protobuf";
import { type Payload, PayloadSchema } from "@pawl/proto/v1/payload_pb.js";

/** A JSON payload, as any worker in any language would send it. */
export function jsonPayload(text: string): Payload {
  return create(PayloadSchema, {
    contentType: "application/json",
    body: { case: "data", value: new TextEncoder().encode(text) },
  });
}

/** The text of a payload. */
export function textOf(payload: Payload | undefined): string | undefined {
  return payload?.body.case === "data" ? new TextDecoder().decode(payload.body.value) : undefined;
}
