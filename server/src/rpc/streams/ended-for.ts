import type { Run, Task, Wait } from "../../core/state.js";

/** Something that ended for a task: a wait of it, or a task that it called. */
export type Ended =
  | { readonly kind: "wait"; readonly wait: Wait }
  | { readonly kind: "call"; readonly called: Task };

/** Number of the event that ended it. */
export function endOf(ended: Ended): number {
  return ended.kind === "wait" ? ended.wait.endedEvent : ended.called.closedEvent;
}

const nothing: readonly Ended[] = [];

/** What ended for a task after an event, in order. */
export function endedFor(run: Run, number: number, after: number): readonly Ended[] {
  const calls = run.tasks[number]?.calls?.ended;
  if (run.waits.length === 0 && calls === undefined) {
    return nothing;
  }
  const waits = run.waits
    .filter((wait) => wait.task === number && wait.endedEvent > after)
    .map((wait): Ended => ({ kind: "wait", wait }));
  return [...waits, ...callsAfter(run, calls ?? [], after)].sort(
    (one, other) => endOf(one) - endOf(other),
  );
}

/** Calls lie in the order of their ends, so only what is new is looked at. */
function callsAfter(run: Run, ended: readonly number[], after: number): Ended[] {
  const found: Ended[] = [];
  for (let index = ended.length - 1; index >= 0; index--) {
    const called = run.tasks[ended[index] ?? -1];
    if (called === undefined || called.closedEvent <= after) {
      break;
    }
    found.push({ kind: "call", called });
  }
  return found.reverse();
}
