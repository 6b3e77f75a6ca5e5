import type { EventMeta, EventValue } from "../event.js";
import { findOpenEffect } from "../open-effects.js";
import { freshRequests, rememberRequest } from "../start-requests.js";
import type { MutableRun } from "../state.js";
import { isRunOpen } from "../transitions.js";
import { announceAgain, beginAgain, planOf } from "./begin-again.js";
import { CorruptHistory } from "./corrupt.js";
import type { ApplyHooks } from "./hooks.js";
import { keepBytes } from "./keep.js";
import { carrySignals } from "./signals.js";

/** A run that is over begins once more, by a start. */
export function applyRunRestarted(
  run: MutableRun,
  event: EventValue<"runRestarted">,
  meta: EventMeta,
  hooks: ApplyHooks,
): void {
  if (isRunOpen(run.status) || findOpenEffect(run) !== undefined || run.openProposals.size > 0) {
    throw new CorruptHistory(
      `run "${run.runId}" to be over and settled before it begins once more`,
      "it is not",
    );
  }
  const { incarnation, requestId, labels, traceparent, principal, deadline, codeVersion } = event;
  carrySignals(run, { hasEnded: true });
  const { signals, signalsByRequest, keptSignals, keptSignalCount, keptSignalBytes } = run;
  const request = { requestId, atMs: meta.atMs };
  beginAgain(
    run,
    planOf(run, event.plan),
    { incarnation, meta },
    {
      ...{ signals, signalsByRequest, keptSignals, keptSignalCount, keptSignalBytes },
      ...{ labels, traceparent, principal, deadline, codeVersion },
      input: keepBytes(event.input),
      startRequests: rememberRequest(freshRequests(run.startRequests, meta.atMs), request),
    },
  );
  announceAgain(run, hooks);
}
