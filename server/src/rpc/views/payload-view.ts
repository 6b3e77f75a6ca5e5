import type { MessageInitShape } from "@bufbuild/protobuf";
import { fromBinary } from "@bufbuild/protobuf";
import { type Timestamp, timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { FailureOrigin, FailureSchema } from "@pawl/proto/v1/failure_pb.js";
import { type Payload, PayloadSchema } from "@pawl/proto/v1/payload_pb.js";

/** The message of an encoded payload. */
export function payloadOf(bytes: Uint8Array): Payload {
  return fromBinary(PayloadSchema, bytes);
}

/** A time of the kernel as the API tells it; 0, which means not yet, is absent. */
export function timestampView(ms: number): Timestamp | undefined {
  return ms === 0 ? undefined : timestampFromMs(ms);
}

/** A failure as the core holds it. */
export interface FailureLike {
  readonly kind: string;
  readonly code: string;
  readonly message: string;
  readonly data?: Uint8Array | undefined;
  readonly stack: string;
  readonly cause?: FailureLike | undefined;
  readonly retryable: boolean;
  readonly origin: FailureOrigin;
}

/** The message of a failure, with its chain. */
export function failureView(failure: FailureLike): MessageInitShape<typeof FailureSchema> {
  const { kind, code, message, data, stack, cause, retryable, origin } = failure;
  return {
    kind,
    code,
    message,
    stack,
    retryable,
    origin,
    ...(data === undefined ? {} : { data: payloadOf(data) }),
    ...(cause === undefined ? {} : { cause: failureView(cause) }),
  };
}
