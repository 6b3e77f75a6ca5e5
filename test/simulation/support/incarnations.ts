import type { Run } from "@pawl/server/core/state.js";
import type { StoredEvent } from "@pawl/server/kernel/kernel-api.js";
import type { ShadowRun } from "./shadow-log.js";

/** The states of a run: how each incarnation was at its end, and how the last one is. */
export function statesOf({ earlier, state }: ShadowRun): readonly Run[] {
  return [...earlier, state];
}

/** The incarnation that a run was in with so many events, as it was at its end or is. */
export function stateOf(run: ShadowRun, eventCount: number): Run {
  const begun = run.events.slice(0, eventCount).filter(({ body }) => begins(body)).length;
  return run.earlier[begun] ?? run.state;
}

/** Of the first so many events of a run those of the incarnation that it was in then. */
export function eventsOf({ events }: ShadowRun, eventCount: number): readonly StoredEvent[] {
  const known = events.slice(0, eventCount);
  const begun = known.findLastIndex(({ body }) => begins(body));
  return known.slice(Math.max(0, begun));
}

/** True for an event by which the next incarnation of a run begins. */
export function begins(body: StoredEvent["body"]): boolean {
  return body.case === "runRestarted" || body.case === "runContinued";
}
