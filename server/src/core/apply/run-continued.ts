import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { originalInput } from "../continued.js";
import type { EventMeta, EventValue } from "../event.js";
import { findOpenEffect } from "../open-effects.js";
import { presentPlan } from "../plan/plan-versions.js";
import { rememberedMs } from "../start-requests.js";
import type { MutableRun } from "../state.js";
import { announceAgain, beginAgain } from "./begin-again.js";
import { CorruptHistory } from "./corrupt.js";
import type { ApplyHooks } from "./hooks.js";
import { indexSignal } from "./indices.js";
import { keepBytes } from "./keep.js";
import { leasedTaskOf, moveTask } from "./move-task.js";
import { carrySignals } from "./signals.js";

/** The function of a run ended its attempt, and the run goes on as its next incarnation. It was open all the time: nobody is told of an end. */
export function applyRunContinued(
  run: MutableRun,
  event: EventValue<"runContinued">,
  meta: EventMeta,
  hooks: ApplyHooks,
): void {
  const task = leasedTaskOf(run, event.task, event.leaseVersion);
  task.sessionId = "";
  moveTask(run, task, TaskStatus.COMPLETED, meta);
  hooks.leaseOver(run, task.number, "");
  if (run.openTasks > 0 || findOpenEffect(run) !== undefined || run.openProposals.size > 0) {
    throw new CorruptHistory(
      `everything in run "${run.runId}" to be over and settled when its function continues as new`,
      "it is not",
    );
  }
  carrySignals(run, { hasEnded: false, seenThrough: event.seenThrough });
  const { status, pause, labels, traceparent, principal, deadline, startRequests, signals } = run;
  const { codeVersion } = run;
  const startInput = originalInput(run);
  const { incarnation, leaseVersion } = event;
  beginAgain(
    run,
    presentPlan(run),
    { incarnation, meta },
    {
      ...{ status, pause, labels, traceparent, principal, deadline, startRequests, codeVersion },
      input: keepBytes(event.input),
      continued: { leaseVersion, startInput },
    },
  );
  keepSignals(run, signals, meta.atMs);
  announceAgain(run, hooks);
}

/**
 * What no wait took goes over, in its order. Of what was taken the request is remembered as long as it must be, from its receipt, or from its answer, for
 * which its sender may still ask; not for ever: else a run that lives by signals would grow with each of them.
 */
function keepSignals(run: MutableRun, signals: MutableRun["signals"], nowMs: number): void {
  const carried = signals.filter(
    ({ takenBy, receivedAtMs, answer }) =>
      takenBy === undefined || nowMs - (answer?.atMs ?? receivedAtMs) < rememberedMs,
  );
  for (const [number, signal] of carried.entries()) {
    signal.number = number;
    run.signals.push(signal);
    indexSignal(run, signal);
  }
}
