import { RunStatus } from "@pawl/proto/v1/run_pb.js";
import type { EventMeta, EventValue } from "../event.js";
import type { MutableRun } from "../state.js";
import { isLegal, runStatusName, runTransitions } from "../transitions.js";
import { announceTasks } from "./announce-tasks.js";
import { CorruptHistory } from "./corrupt.js";
import type { ApplyHooks } from "./hooks.js";
import { announceObligations } from "./obligations.js";

/** Nothing of the run is offered from now on; most of what is due for its tasks waits for the resumption. */
export function applyRunPaused(
  run: MutableRun,
  event: EventValue<"runPaused">,
  meta: EventMeta,
  hooks: ApplyHooks,
): void {
  moveRun(run, RunStatus.PAUSED);
  run.pause = { atMs: meta.atMs, reason: event.reason, principal: event.principal };
  announceTasks(run, hooks);
}

/** The run goes on: what is READY is offered, and what came due meanwhile is due now. */
export function applyRunResumed(run: MutableRun, _meta: EventMeta, hooks: ApplyHooks): void {
  moveRun(run, RunStatus.RUNNING);
  run.pause = undefined;
  announceTasks(run, hooks);
  announceObligations(run, hooks);
}

function moveRun(run: MutableRun, to: RunStatus): void {
  if (!isLegal(runTransitions, run.status, to)) {
    throw new CorruptHistory(
      `a state that may follow ${runStatusName(run.status)} for run "${run.runId}"`,
      `it is ${runStatusName(to)}`,
    );
  }
  run.status = to;
  run.version++;
}
