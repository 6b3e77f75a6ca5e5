import { silentHooks } from "../../core/apply/hooks.js";
import { apply, applyFirst, type PlanSource } from "../../core/apply.js";
import type { MutableRun } from "../../core/state.js";
import type { EventSlice } from "../../log/segment.js";
import { StoreDamaged } from "../../log/store-errors.js";
import { decodeEvents } from "../decode-events.js";

/**
 * Applies the events of slices that a state does not know yet. Without a state the first event makes it.
 * @returns the state; undefined when there was none and no event.
 * @throws CorruptHistory, StoreDamaged, UnknownEvent
 */
export function replay(
  state: MutableRun | undefined,
  slices: Iterable<EventSlice>,
  plans: PlanSource,
): MutableRun | undefined {
  let run = state;
  for (const slice of slices) {
    if (run !== undefined && slice.firstEventNumber + slice.count - 1 <= run.eventCount) {
      continue; // The rows know it already: the horizon lags behind them.
    }
    for (const { body, atMs, number } of decodeEvents(slice)) {
      if (run === undefined) {
        run = applyFirst(body, { atMs, number }, plans, silentHooks);
      } else if (number > run.eventCount) {
        apply(run, body, { atMs, number }, silentHooks);
      }
    }
  }
  return run;
}

/**
 * Slices that hold events after a number.
 * @throws StoreDamaged when the number lies within one (a checkpoint never ends within a slice), or an event is missing.
 */
export function slicesAfter(slices: readonly EventSlice[], event: number): EventSlice[] {
  const after = slices.filter((slice) => slice.firstEventNumber + slice.count - 1 > event);
  let next = event + 1;
  for (const slice of after) {
    if (slice.firstEventNumber !== next) {
      throw new StoreDamaged(
        `Expected event ${next} of a run next in the log, but found event ${slice.firstEventNumber}`,
        { firstBadSequence: slice.firstSequence },
      );
    }
    next += slice.count;
  }
  return after;
}
