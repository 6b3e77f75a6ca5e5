import type { FailureShape } from "@pawl/proto/v1/failure_wire.js";

/**
 * Copies share slabs of this many bytes. An array of its own for each would cost the host's allocator and garbage collector more than all else
 * that a short run needs (measured: a tenth of the kernel's time); runs of one slab begin together, and most end together. What outlives the others
 * keeps at most one slab.
 */
const slabBytes = 4096;
/** What is longer gets an array of its own. */
const sharedBytesMax = 1024;

let slab: Uint8Array = new Uint8Array(slabBytes);
let slabUsed = 0;

/**
 * Bytes as a state keeps them: a copy. Those of an event are views of the message or segment that it came in, of up to several MiB, which a
 * state would keep alive for as long as its run is in memory.
 */
export function keepBytes(bytes: Uint8Array): Uint8Array;
export function keepBytes(bytes: Uint8Array | undefined): Uint8Array | undefined;
export function keepBytes(bytes: Uint8Array | undefined): Uint8Array | undefined {
  return bytes === undefined ? undefined : copy(bytes);
}

function copy(bytes: Uint8Array): Uint8Array {
  const { length } = bytes;
  if (length > sharedBytesMax) {
    return new Uint8Array(bytes);
  }
  if (slabUsed + length > slabBytes) {
    slab = new Uint8Array(slabBytes);
    slabUsed = 0;
  }
  const start = slabUsed;
  slabUsed += length;
  slab.set(bytes, start);
  return slab.subarray(start, slabUsed);
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
