import type { EventBody, EventValue } from "../event.js";
import type { Run, Task, Wait } from "../state.js";
import { subjectKey } from "../wait-subject.js";

/** How a wait ends. */
export type WaitOutcome = EventValue<"waitEnded">["outcome"];

/** The end of one open wait. It makes its task READY when that is SUSPENDED. */
export function endWait(
  { number, task }: Pick<Wait, "number" | "task">,
  outcome: WaitOutcome,
): EventBody {
  return { case: "waitEnded", value: { wait: number, task, outcome } };
}

/**
 * Wakes whoever waits for this thing: every open wait for it ends so. The one way in for all that can be waited for by name or number
 * (what only one may have goes to the first alone: see `takers`).
 */
export function endWaits(
  run: Run,
  subject: Parameters<typeof subjectKey>[0]["subject"],
  outcome: WaitOutcome,
): EventBody[] {
  return takers(run, subject).map((wait) => endWait(wait, outcome));
}

/** The open waits for a thing, in the order in which they began. */
export function takers(run: Run, subject: Parameters<typeof subjectKey>[0]["subject"]): Wait[] {
  const key = subjectKey({ subject });
  const numbers = key === undefined ? undefined : run.openWaitsBySubject.get(key);
  return (numbers ?? []).flatMap((number) => run.waits[number] ?? []);
}

/** The ends of the waits of a task whose time is over by now, the earliest first. */
export function endDueWaits(run: Run, task: Task, nowMs: number): EventBody[] {
  return task.openWaits
    .flatMap((number) => run.waits[number] ?? [])
    .filter((wait) => isDue(wait.declaration.dueAtMs, nowMs))
    .sort((one, other) => one.declaration.dueAtMs - other.declaration.dueAtMs)
    .map((wait) => endWait(wait, overdue(wait.declaration)));
}

/** True when a wait with this due time is over. */
export function isDue(dueAtMs: number, nowMs: number): boolean {
  return dueAtMs !== 0 && dueAtMs <= nowMs;
}

/** How a wait ends whose time is over. */
export function overdue({ subject }: Pick<Wait["declaration"], "subject">): WaitOutcome {
  return subject.case === "timer"
    ? { case: "timerFired", value: {} }
    : { case: "timedOut", value: {} };
}
