import type { Payload } from "@pawl/proto/v1/payload_pb.js";
import { TooLarge } from "../errors.js";
import { encodeValue, payloadBytes } from "./codec.js";

/** Longest progress, in bytes: the kernel's own bound. */
const PROGRESS_BYTES_MAX = 32_768;

/**
 * Progress as it is sent; undefined when there is none.
 *
 * @throws ValueRefused, TooLarge
 */
export function encodeProgress(value: unknown): Payload | undefined {
  const payload = encodeValue(value, "progress");
  if (payload !== undefined && payloadBytes(payload) > PROGRESS_BYTES_MAX) {
    throw new TooLarge(
      `Expected progress of at most ${PROGRESS_BYTES_MAX} bytes, but it has ${payloadBytes(payload)}. Report less.`,
    );
  }
  return payload;
}
