import { LeaseEndReason } from "@pawl/proto/log/v1/event_pb.js";
import { RunStatus } from "@pawl/proto/v1/run_pb.js";
import type { PauseRun, ResumeRun } from "../command.js";
import type { DecideContext } from "../context.js";
import { accept, acceptExisting, type Decision, reject } from "../decision.js";
import type { EventBody } from "../event.js";
import { holds } from "../lease-standing.js";
import { illegalTransition, staleVersion } from "../rejection.js";
import type { Run } from "../state.js";
import { isRunOpen } from "../transitions.js";
import { endLease } from "./end-lease.js";
import { findTask, runOver } from "./find.js";

/**
 * Pauses a run: nothing of it is offered from now on, and offers that no worker has taken are withdrawn. Refusals, in order: run over, stale
 * version, asked to stop (then nothing is left to pause). A paused run is answered `existing`.
 */
export function decidePauseRun(run: Run, command: PauseRun, ctx: DecideContext): Decision {
  if (run.status === RunStatus.PAUSED) {
    return acceptExisting();
  }
  if (!isRunOpen(run.status)) {
    return reject(runOver(run, "PauseRun"));
  }
  if (command.expectedVersion !== undefined && command.expectedVersion !== run.version) {
    return reject(staleVersion("run", command.expectedVersion, run.version));
  }
  if (run.cancelRequestedAtMs !== 0) {
    return reject(
      illegalTransition(
        "PAWL_ILLEGAL_TRANSITION",
        {
          entity: "run",
          status: "RUNNING",
          command: "PauseRun",
          legal: ["wait for its end", "TerminateRun"],
        },
        `Expected run "${run.runId}" to go on, but it was asked to stop: only clean-up is left of it, which is not paused. Next: wait for its end, or terminate it.`,
      ),
    );
  }
  const { reason } = command;
  const events: EventBody[] = [{ case: "runPaused", value: { reason, principal: ctx.principal } }];
  for (const { task, leaseVersion } of command.untaken) {
    const found = findTask(run, task);
    if (found !== undefined && holds(found.task, leaseVersion)) {
      const end = { reason: LeaseEndReason.WITHDRAWN, delayMs: 0, progress: undefined };
      events.push(...endLease(run, found, end, ctx));
    }
  }
  return accept(events);
}

/** Lets a paused run go on. Refusals, in order: run over, stale version. A run that is not paused is answered `existing`. */
export function decideResumeRun(run: Run, command: ResumeRun, ctx: DecideContext): Decision {
  if (run.status === RunStatus.RUNNING) {
    return acceptExisting();
  }
  if (!isRunOpen(run.status)) {
    return reject(runOver(run, "ResumeRun"));
  }
  if (command.expectedVersion !== undefined && command.expectedVersion !== run.version) {
    return reject(staleVersion("run", command.expectedVersion, run.version));
  }
  const { reason } = command;
  return accept([{ case: "runResumed", value: { reason, principal: ctx.principal } }]);
}
