import type { StepRecord, WaitOutcome } from "@pawl/proto/v1/worker_service_pb.js";
import { payloadBytes } from "../codec.js";

/** What a function takes in memory beside what was recorded, in bytes: an estimate. */
export const BYTES_BASE: number = 8_192;

/** What a name and what hangs on it take in memory, in bytes: an estimate. */
export const NAME_BYTES: number = 1_024;

/** About how much memory records take, in bytes. */
export function bytesOf({
  steps,
  outcomes,
}: {
  readonly steps: readonly StepRecord[];
  readonly outcomes: readonly WaitOutcome[];
}): number {
  let bytes = 0;
  for (const { value } of steps) bytes += NAME_BYTES + payloadBytes(value);
  for (const outcome of outcomes) bytes += NAME_BYTES + contentBytes(outcome);
  return bytes;
}

function contentBytes({ outcome }: WaitOutcome): number {
  switch (outcome.case) {
    case "signal":
    case "update":
      return payloadBytes(outcome.value.payload);
    case "input":
      return outcome.value.answer.case === "given" ? payloadBytes(outcome.value.answer.value) : 0;
    case "call":
      return outcome.value.end.case === "output" ? payloadBytes(outcome.value.end.value) : 0;
    default:
      return 0;
  }
}
