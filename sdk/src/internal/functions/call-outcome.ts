import type { WaitOutcome } from "@pawl/proto/v1/worker_service_pb.js";
import { CallFailed } from "../../workflow-errors.js";
import type { AttemptContextOptions } from "../attempt-context-options.js";
import { decodePayload } from "../codec.js";
import { fromFailure } from "../failure.js";

/**
 * What a called task gave.
 *
 * @throws CallFailed
 */
export async function readCall(
  name: string,
  outcome: WaitOutcome["outcome"],
  load: AttemptContextOptions["load"],
): Promise<unknown> {
  const end = outcome.case === "call" ? outcome.value.end : { case: undefined };
  if (end.case === "failure") {
    throw new CallFailed(name, fromFailure(end.value));
  }
  const stored = end.case === "output" ? end.value : undefined;
  return decodePayload(await load(stored), `the output of task "${name}"`);
}
