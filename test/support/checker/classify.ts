import type { CheckedOperation, CheckedTask, Incarnation } from "./model.js";

/** A class, as docs/concepts/recovery.md defines it. */
export type CheckedClass =
  | "REUSED"
  | "RETRIED"
  | "RECONCILED"
  | "SKIPPED"
  | "WAITING"
  | "NEEDS_REVIEW"
  | "UNTOUCHED"
  | "SUPERSEDED";

/** What a report must say of a task or an operation. */
export interface CheckedLine {
  readonly class: CheckedClass;
  readonly task: string;
  /** Empty for the task itself. */
  readonly operationKey: string;
  /** Number of the event that put it where it is; undefined: any. */
  readonly endedEvent: number | undefined;
}

/**
 * The classes of everything that an incarnation has, by the definitions.
 *
 * @param since only what was there at this event, and by what became of it later; 0: from the beginning.
 */
export function classify(of: Incarnation, since: number): CheckedLine[] {
  const lines: CheckedLine[] = [];
  for (const [number, task] of of.tasks.entries()) {
    if (since === 0 || task.joined <= since) {
      const endedEvent = task.ended > 0 ? task.ended : undefined;
      const kind = classOfTask(of, number, since);
      lines.push({ class: kind, task: task.name, operationKey: "", endedEvent });
    }
    lines.push(...linesOf(of, number, since));
  }
  return of.tasks.length === 0 ? linesOf(of, 0, since) : lines;
}

function linesOf(of: Incarnation, number: number, since: number): CheckedLine[] {
  const task = of.tasks[number]?.name ?? "";
  const wasThere = (joined: number): boolean => since === 0 || joined <= since;
  const newest = new Map<string, CheckedLine>();
  for (const { key, task: by, joined, state } of of.proposals.values()) {
    const isDone = of.operations.some((operation) => operation.key === key);
    newest.delete(key);
    if (by === number && wasThere(joined) && !isDone && state !== "consumed") {
      const kind = state === "open" ? "WAITING" : state === "superseded" ? "SUPERSEDED" : "SKIPPED";
      newest.set(key, { class: kind, task, operationKey: key, endedEvent: undefined });
    }
  }
  const operations = of.operations
    .filter(({ declaredBy, joined }) => declaredBy === number && wasThere(joined))
    .map((operation) => ({
      class: classOfOperation(of, operation, since),
      task,
      operationKey: operation.key,
      endedEvent: operation.settled > 0 ? operation.settled : undefined,
    }));
  return [...newest.values(), ...operations];
}

function classOfTask(of: Incarnation, number: number, since: number): CheckedClass {
  const task = of.tasks[number];
  if (task === undefined) throw new Error(`no task ${number}`);
  if (task.state !== "ended") {
    const waitsForReview = of.waits.some(
      (wait) =>
        wait.task === number &&
        wait.isOpen &&
        wait.review !== undefined &&
        of.reviews[wait.review]?.isOpen === true,
    );
    const needsPerson = of.isFaulted || task.state === "review" || waitsForReview;
    return needsPerson ? "NEEDS_REVIEW" : "WAITING";
  }
  if (task.ended <= since)
    return consumers(of, number).some((each) => isBegun(each, task.ended, since))
      ? "REUSED"
      : "UNTOUCHED";
  if (task.end === "person") return "RECONCILED";
  if (task.end === "skipped" || task.leases.length === 0) return "SKIPPED";
  if (task.again.some((event) => event > since)) return "RETRIED";
  const isReused = consumers(of, number).some((each) => isBegun(each, task.ended, since));
  return isReused ? "REUSED" : "UNTOUCHED";
}

/** Whoever takes what a task gives: who called it, else those of the plan that need it. */
function consumers(of: Incarnation, number: number): CheckedTask[] {
  const caller = of.tasks[number]?.caller;
  return of.tasks.filter((each, place) =>
    caller === undefined
      ? each.needs.some((need) => need.task === number) && !isTooLate(of, number, each)
      : place === caller,
  );
}

/** True when a task began again behind an event; and since some event, when it began at all. */
function isBegun(task: CheckedTask, behind: number, since: number): boolean {
  const begins = since > 0 ? task.leases : task.again;
  return begins.some((event) => event > Math.max(behind, since));
}

function classOfOperation(
  of: Incarnation,
  operation: CheckedOperation,
  since: number,
): CheckedClass {
  if (operation.state === "review") return "NEEDS_REVIEW";
  if (operation.state !== "settled") return "WAITING";
  const task = of.tasks[operation.task];
  const isReused = task !== undefined && isBegun(task, operation.settled, since);
  if (operation.settled <= since) return isReused ? "REUSED" : "UNTOUCHED";
  if (operation.isReconciled) return "RECONCILED";
  const calls = operation.calls.filter((event) => event > since).length;
  if (since > 0 ? calls > 0 : calls > 1) return "RETRIED";
  return isReused ? "REUSED" : "UNTOUCHED";
}

/** True when a task ended after another one, which needs it, had enough of its needs: then it is no input of that one. */
function isTooLate(of: Incarnation, number: number, needing: CheckedTask): boolean {
  return needing.satisfied > 0 && (of.tasks[number]?.ended ?? 0) > needing.satisfied;
}
