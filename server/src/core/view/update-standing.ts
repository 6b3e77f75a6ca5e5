import { runOver } from "../decide/find.js";
import { illegalTransition, type Rejection } from "../rejection.js";
import { type Run, type Signal, signalRequest } from "../state.js";
import { isRunOpen } from "../transitions.js";

/** An update by its id; undefined when none with it was acknowledged. */
export function findUpdate(run: Run, updateId: string): Signal | undefined {
  const request = signalRequest({ requestId: updateId, update: true });
  return run.signals[run.signalsByRequest.get(request) ?? -1];
}

/** Why an update that has no answer will never have one; undefined while it may. */
export function whyNeverAnswered(run: Run, { takenBy, requestId }: Signal): Rejection | undefined {
  if (takenBy === "earlier") {
    return illegalTransition(
      "PAWL_RUN_OVER",
      { entity: "run", status: "ended", command: "UpdateRun", legal: [] },
      `Expected the execution of run "${run.runId}" that update "${requestId}" was sent to to answer it, but it ended first. Next: send it anew under another id.`,
    );
  }
  return isRunOpen(run.status) ? undefined : runOver(run, "UpdateRun");
}
