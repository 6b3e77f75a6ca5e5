import type { TaskWait } from "@pawl/proto/v1/worker_service_pb.js";
import type { AttemptContextOptions } from "../attempt-context-options.js";
import { attemptEnd, errorFromRejection, isAttemptOver } from "../rejection.js";
import { misfit } from "./misfit.js";

/** Tells the kernel of waits that begin while something of the function still runs. Resolves when it has answered. */
export async function declareWaits(
  { port, lease, state }: Pick<AttemptContextOptions, "port" | "lease" | "state">,
  waits: TaskWait[],
): Promise<void> {
  const { rejection } = await port.declareWaits(lease, waits);
  if (rejection === undefined) return;
  if (isAttemptOver(rejection)) state.end(attemptEnd(rejection));
  else state.fail(misfit(errorFromRejection(rejection)));
}
