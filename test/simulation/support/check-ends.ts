import type { HeardEnd } from "./client.js";
import { eventsOf } from "./incarnations.js";
import type { ShadowLog } from "./shadow-log.js";

/** An end that was told is one of the log: of the incarnation that the run was in then, whatever began since. */
export function checkEnds(
  ends: ReadonlyMap<string, HeardEnd>,
  shadow: ShadowLog,
  complain: (text: string) => void,
): void {
  for (const [runId, { status, eventCount }] of ends) {
    const run = shadow.find(runId);
    const events = run === undefined ? [] : eventsOf(run, eventCount);
    const recorded = events.flatMap(({ body }) =>
      body.case === "runClosed" ? [body.value.status] : [],
    );
    if (recorded.join() !== `${status}`) {
      complain(`the client heard that ${runId} ended as ${status}, but the log says ${recorded}`);
    }
  }
}
