import { ReviewSubject } from "@pawl/proto/v1/review_pb.js";
import type { Run } from "../state.js";
import { isSettled } from "../transitions.js";
import { breaches, type Violation } from "./violation.js";

/** Violations of what a task finds of its own without looking at that of others, against a look at all. */
export function findByTaskViolations(run: Run): Violation[] {
  const unsettled = numbersByTask(run.operations.filter(({ status }) => !isSettled(status)));
  const steps = numbersByTask(run.steps.filter(({ dropped }) => dropped === 0));
  const reviews = numbersByTask(
    run.reviews.filter(
      ({ subject, resolvedAtMs }) => subject === ReviewSubject.TASK && resolvedAtMs === 0,
    ),
  );
  return run.tasks.flatMap((task) => {
    // An operation that another task calls next comes behind those it has.
    const found = [...task.unsettled].sort((one, other) => one - other);
    return breaches(`task ${task.number}`, [
      same("unsettled operations", unsettled.get(task.number), found),
      same("steps", steps.get(task.number), task.steps),
      same(
        "open review",
        reviews.get(task.number),
        task.openReview === undefined ? [] : [task.openReview],
      ),
    ]);
  });
}

function same(
  what: string,
  scanned: readonly number[] = [],
  indexed: readonly number[],
): [boolean, string, string] {
  return [`${scanned}` === `${indexed}`, `its ${what} ${scanned}`, `${indexed}`];
}

function numbersByTask(
  items: readonly { readonly number: number; readonly task: number }[],
): Map<number, number[]> {
  const byTask = new Map<number, number[]>();
  for (const { number, task } of items) {
    const numbers = byTask.get(task);
    if (numbers === undefined) {
      byTask.set(task, [number]);
    } else {
      numbers.push(number);
    }
  }
  return byTask;
}
