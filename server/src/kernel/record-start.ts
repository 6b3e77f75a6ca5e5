import type { Loop } from "./loop.js";
import { listedRunsMax, packNumbers } from "./starts.js";
import type { Recovery } from "./storage/recovery.js";
import type { FoundOpen } from "./storage/start-up.js";

/** What is known of a start besides what the store told. */
export interface StartFacts extends FoundOpen {
  readonly openedAtMs: number;
  readonly version: string | undefined;
}

/** Records that a kernel opened a store, with the next commit; until then it is listed, and in no row. The first opening of an empty store is none: there was nothing to go on with. */
export function recordStart(loop: Loop, recovery: Recovery, facts: StartFacts): void {
  const { head, starts, storeRun, meta } = recovery;
  if (head.sequence === 0) {
    return;
  }
  const started = {
    number: starts.next,
    kernelVersion: facts.version ?? "unknown",
    format: meta.identity.format,
    epoch: meta.identity.epoch,
    openedAtMs: facts.openedAtMs,
    afterSequence: head.sequence,
    afterHash: head.hash,
    wasClosed: recovery.wasClosed,
    openRuns: facts.runs.length,
    runs: packNumbers(facts.runs.slice(0, listedRunsMax)),
    leases: facts.leases,
    deadlines: loop.work.armedDeadlines,
    tailEvents: recovery.tailEvents,
    tailBytes: recovery.tailBytes,
  };
  starts.expect(started);
  loop.appendWithNext(storeRun, () => {
    starts.add(started);
    return [{ case: "kernelStarted", value: started }];
  });
}
