import type { Run } from "../../core/state.js";
import type { SessionLease } from "../../kernel/kernel-api.js";
import type { Handles } from "./handles.js";
import { outcomePages } from "./records.js";
import type { WorkOutbox } from "./work-outbox.js";

/** Puts what ended for leased tasks into the outbox: each outcome is sent once on a stream. */
export function takeOutcomes(
  ended: ReadonlyMap<SessionLease, Run>,
  handles: Handles,
  outbox: WorkOutbox,
): void {
  for (const [{ handle, task, runNumber, leaseVersion }, run] of ended) {
    const entry = handles.get(handle);
    if (entry === undefined || entry.hasEnded || entry.leaseVersion !== leaseVersion) {
      continue;
    }
    const pages = outcomePages(run, task, entry.sentThrough, runNumber);
    entry.sentThrough = run.eventCount;
    for (const outcomes of pages) {
      outbox.outcomes.push({ handle, outcomes });
    }
  }
}
