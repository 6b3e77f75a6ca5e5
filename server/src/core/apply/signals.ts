import type { EventMeta, EventValue } from "../event.js";
import { wasSeen } from "../seen-waits.js";
import { type MutableRun, type MutableSignal, type MutableStep, signalRequest } from "../state.js";
import { CorruptHistory } from "./corrupt.js";
import { forgetKeptSignal, indexSignal } from "./indices.js";
import { keepBytes } from "./keep.js";

/** A signal came, or an update. */
export function applySignalReceived(
  run: MutableRun,
  event: EventValue<"signalReceived">,
  meta: EventMeta,
): void {
  const request = signalRequest(event);
  if (run.signalsByRequest.has(request)) {
    throw new CorruptHistory(`signal request "${request}" once`, "it came before");
  }
  const signal: MutableSignal = {
    number: run.signals.length,
    name: event.name,
    payload: keepBytes(event.payload),
    requestId: event.requestId,
    from: event.from,
    principal: event.principal,
    receivedAtMs: meta.atMs,
    contentDigest: keepBytes(event.contentDigest),
    takenBy: undefined,
    update: event.update,
    answer: undefined,
  };
  run.signals.push(signal);
  indexSignal(run, signal);
}

/** The code that took an update answered it. The answer stays with the update: it outlives the incarnation, and with it the step. */
export function answerUpdate(run: MutableRun, step: MutableStep, meta: EventMeta): void {
  const update = run.signals[step.answers ?? -1];
  if (update === undefined || !update.update || update.answer !== undefined) {
    throw new CorruptHistory(
      `an update ${step.answers} without an answer in run "${run.runId}"`,
      update === undefined ? `it has ${run.signals.length} signals` : "it is none, or has one",
    );
  }
  const { value: result, failure: refused } = step;
  update.answer = { result, refused, atMs: meta.atMs };
}

/**
 * What an incarnation leaves to the next one. A signal that no wait took is kept, as is one that a wait took before the code was given it; of one that the code was
 * given only the request is remembered, since the waits are gone and their numbers come again. So is an update, with its answer; one that was taken and not answered is never
 * answered any more.
 *
 * @param hasEnded The run was over: whoever waited for an update was told so, and nobody takes it any more.
 * @param seenThrough up to which event the code was given outcomes; undefined: it was given all.
 */
export function carrySignals(
  run: MutableRun,
  {
    hasEnded,
    seenThrough,
  }: { readonly hasEnded: boolean; readonly seenThrough?: number | undefined },
): void {
  for (const signal of run.signals) {
    const { takenBy, answer } = signal;
    if (
      typeof takenBy === "number" &&
      answer === undefined &&
      !wasSeen(run, takenBy, seenThrough)
    ) {
      signal.takenBy = undefined;
      continue;
    }
    if (signal.takenBy === undefined && signal.update && hasEnded) {
      forgetKeptSignal(run, signal);
      forgetContent(signal);
    } else if (signal.takenBy !== undefined) {
      forgetContent(signal);
    }
  }
}

function forgetContent(signal: MutableSignal): void {
  signal.takenBy = "earlier";
  signal.payload = undefined;
}
