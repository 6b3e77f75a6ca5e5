import { FailureOrigin } from "@pawl/proto/v1/failure_pb.js";
import type { FailureShape } from "@pawl/proto/v1/failure_wire.js";

/** A failure that the kernel itself decides, for example a timeout. `retryable` says whether the policy may try again. */
export function kernelFailure(
  kind: string,
  code: string,
  message: string,
  retryable: boolean,
): FailureShape {
  return { kind, code, message, stack: "", retryable, origin: FailureOrigin.KERNEL };
}
