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

/** What ended for a task after an event, in order. Takes as long as there is of that, however much the run holds. */
export function endedFor(run: Run, number: number, after: number): readonly Ended[] {
  const task = run.tasks[number];
  if (task === undefined || (task.endedWaits.length === 0 && task.calls === undefined)) {
    return nothing;
  }
  const waits = lastOf(task.endedWaits, after, (wait) => waitEnd(run.waits[wait]));
  const calls = lastOf(task.calls?.ended ?? [], after, (called) => callEnd(run.tasks[called]));
  return waits.length === 0 || calls.length === 0
    ? [...waits, ...calls]
    : [...waits, ...calls].sort((one, other) => endOf(one) - endOf(other));
}

function waitEnd(wait: Wait | undefined): Ended | undefined {
  return wait === undefined ? undefined : { kind: "wait", wait };
}

function callEnd(called: Task | undefined): Ended | undefined {
  return called === undefined ? undefined : { kind: "call", called };
}

/** Those that ended after an event. They lie in the order of their ends, so only these are looked at. */
function lastOf(
  numbers: readonly number[],
  after: number,
  read: (number: number) => Ended | undefined,
): Ended[] {
  const found: Ended[] = [];
  for (let index = numbers.length - 1; index >= 0; index--) {
    const ended = read(numbers[index] ?? -1);
    if (ended === undefined || endOf(ended) <= after) {
      break;
    }
    found.push(ended);
  }
  return found.reverse();
}
