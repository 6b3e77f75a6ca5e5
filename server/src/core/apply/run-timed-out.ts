import type { EventMeta, EventValue } from "../event.js";
import type { MutableRun } from "../state.js";
import type { ApplyHooks } from "./hooks.js";
import { stopRun } from "./run-ends.js";

/** The run took longer than it may: it stops, and then it has failed. */
export function applyRunTimedOut(
  run: MutableRun,
  event: EventValue<"runTimedOut">,
  meta: EventMeta,
  hooks: ApplyHooks,
): void {
  run.timedOut = true;
  stopRun(run, event.reason, meta, hooks);
}
