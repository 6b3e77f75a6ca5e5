import type { TaskWait } from "@pawl/proto/v1/worker_service_pb.js";
import type { AttemptContextOptions } from "../attempt-context-options.js";
import { attemptEnd, errorFromRejection, isAttemptOver } from "../rejection.js";
import { misfit } from "./misfit.js";

/** Tells the kernel of waits that begin while something of the function still runs. */
export function declareWaits(
  { port, lease, state }: Pick<AttemptContextOptions, "port" | "lease" | "state">,
  waits: TaskWait[],
): void {
  void port.declareWaits(lease, waits).then(({ rejection }) => {
    if (rejection === undefined) return;
    if (isAttemptOver(rejection)) state.end(attemptEnd(rejection));
    else state.fail(misfit(errorFromRejection(rejection)));
  });
}
