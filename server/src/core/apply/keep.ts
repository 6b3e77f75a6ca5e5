import type { FailureShape } from "@pawl/proto/v1/failure_wire.js";

/**
 * Bytes as a state keeps them: a copy. Those of an event are views of the message or segment that it came in, of up to several MiB, which a
 * state would keep alive for as long as its run is in memory.
 */
export function keepBytes(bytes: Uint8Array): Uint8Array;
export function keepBytes(bytes: Uint8Array | undefined): Uint8Array | undefined;
export function keepBytes(bytes: Uint8Array | undefined): Uint8Array | undefined {
  return bytes === undefined ? undefined : new Uint8Array(bytes);
}

/** A failure as a state keeps it. */
export function keepFailure(failure: FailureShape): FailureShape;
export function keepFailure(failure: FailureShape | undefined): FailureShape | undefined;
export function keepFailure(failure: FailureShape | undefined): FailureShape | undefined {
  if (failure === undefined || (failure.data === undefined && failure.cause === undefined)) {
    return failure;
  }
  return { ...failure, data: keepBytes(failure.data), cause: keepFailure(failure.cause) };
}
