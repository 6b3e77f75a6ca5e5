import type { EventMeta, EventValue } from "../event.js";
import { type MutableRun, type MutableSignal, signalRequest } from "../state.js";
import { CorruptHistory } from "./corrupt.js";
import { indexSignal } from "./indices.js";
import { keepBytes } from "./keep.js";

/** A signal came. */
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
  };
  run.signals.push(signal);
  indexSignal(run, signal);
}
