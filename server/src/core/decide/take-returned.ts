import type { Dropping } from "../dropped-records.js";
import { dropsWait } from "../dropped-records.js";
import type { EventBody } from "../event.js";
import { keptKey, type Run, type Wait } from "../state.js";
import { subjectKey } from "../wait-subject.js";
import { endWait } from "./end-waits.js";

/** What is unread again goes to the waits for it that stay open, in order: after them nothing unread lies beside a wait for it. */
export function takeReturned(run: Run, how: Dropping, dropsMessages: boolean): EventBody[] {
  const open = new Map<string, Wait[]>();
  for (const wait of run.waits) {
    const key = subjectKey(wait.declaration);
    if (key !== undefined && wait.closedAtMs === 0 && wait.dropped === 0 && !dropsWait(how, wait)) {
      open.set(key, [...(open.get(key) ?? []), wait]);
    }
  }
  if (open.size === 0) {
    return [];
  }
  return run.signals.flatMap((signal) => {
    const taker = run.waits[typeof signal.takenBy === "number" ? signal.takenBy : -1];
    const isReturned = taker !== undefined && dropsWait(how, taker);
    if (!isReturned || (dropsMessages && !signal.update)) {
      return [];
    }
    const wait = open.get(keptKey(signal))?.shift();
    const outcome = { case: "signalTaken", value: { signal: signal.number } } as const;
    return wait === undefined ? [] : [endWait(wait, outcome)];
  });
}
