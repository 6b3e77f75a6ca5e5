import { OperationStatus } from "@pawl/proto/v1/operation_pb.js";
import type { IntendOperation } from "../command.js";
import { accept, acceptExisting, type Decision } from "../decision.js";
import type { EventBody } from "../event.js";
import { isEffectOpen } from "../open-effects.js";
import type { TaskSpec } from "../plan/task-spec.js";
import { plannedSpec } from "../plan/tasks-of-run.js";
import { illegalTransition, invalidField, type Rejection } from "../rejection.js";
import type { Operation, Run } from "../state.js";
import { isTaskClosed } from "../transitions.js";
import type { FoundTask } from "./find.js";
import type { IntentParts } from "./proceed.js";
import { askPerson, waitForReview } from "./settle-doubt.js";

/** A compensation that must wait for another operation asks again after this long, in ms. */
const waitMs = 1_000;

/** Whose code runs: a task that rolls back runs that of the task that ended, except for what it undoes. */
export function specOfCode(
  run: Run,
  found: FoundTask | undefined,
  { rollback = false }: Pick<IntendOperation, "rollback"> = {},
): TaskSpec | undefined {
  const undone = rollback ? undefined : found?.task.rollsBack;
  return undone === undefined ? found?.spec : plannedSpec(run, undone);
}

/** Refusal of what undoes something under the lease of a task that does not roll back. */
export function refuseRollback(
  found: FoundTask | undefined,
  { rollback = false }: Pick<IntendOperation, "rollback">,
): Rejection | undefined {
  return rollback && found?.task.rollsBack === undefined
    ? invalidField("operation.rollback", "false unless the task of the lease rolls back", "true")
    : undefined;
}

/** Refusal of what the ended task had not asked for when it is rolled back. */
export function refuseNew(found: FoundTask | undefined, command: string): Rejection | undefined {
  return found?.task.rollsBack === undefined
    ? undefined
    : illegalTransition("PAWL_ILLEGAL_TRANSITION", {
        entity: "task",
        status: "LEASED, rolling back",
        command,
        legal: ["undo what was done", "settle what is in doubt", "report"],
      });
}

/** True for an operation of the ended task, seen from the one that rolls it back. */
export function isUndone(operation: Operation, found: FoundTask | undefined): boolean {
  const rollsBack = found?.task.rollsBack;
  return rollsBack !== undefined && operation.declaration.task !== found?.task.number;
}

/** Tells the caller that this is not begun, since what was done is rolled back. */
export function answerHeldBack(operationKey: string, events: readonly EventBody[] = []): Decision {
  return accept(events, {
    existing: events.length === 0,
    intent: { case: "heldBack", operationKey },
  });
}

/**
 * What stands in the way of an intent of a task that rolls back; undefined when nothing does. What the ended task did not call is not called any more; and nothing is undone while
 * an operation of the run is unsettled: a person is asked about one that is in doubt, and what another task is at is waited for.
 */
export function findObstacle(
  run: Run,
  known: Operation | undefined,
  key: string,
  parts: IntentParts & { readonly command: Pick<IntendOperation, "rollback"> },
): Decision | undefined {
  const { found, command } = parts;
  if (found?.task.rollsBack === undefined) {
    return undefined;
  }
  const isOpen = known !== undefined && isEffectOpen(known);
  if (command.rollback !== true) {
    const isIdle = known?.status === OperationStatus.INTENDED && !isOpen;
    return known === undefined || isIdle ? answerHeldBack(key) : undefined;
  }
  const begins = known === undefined || (known.status === OperationStatus.INTENDED && !isOpen);
  return begins ? waitForOthers(run, key, parts) : undefined;
}

/** True while the task of an operation in doubt goes on beside the rollback: it looks it up, or asks a person, itself. */
function isSettledByOther(run: Run, { declaration }: Operation, { found }: IntentParts): boolean {
  const task = run.tasks[declaration.task];
  return task !== undefined && task.number !== found?.task.number && !isTaskClosed(task.status);
}

function waitFor(operationKey: string): Decision {
  return acceptExisting({
    existing: true,
    intent: { case: "wait", operationKey, notBeforeMs: waitMs },
  });
}

function waitForOthers(run: Run, key: string, parts: IntentParts): Decision | undefined {
  for (const number of run.unsettled) {
    const other = run.operations[number];
    if (other === undefined || other.declaration.key === key || !isEffectOpen(other)) {
      continue;
    }
    switch (other.status) {
      case OperationStatus.NEEDS_REVIEW:
        return waitForReview(run, other, parts, { review: other.openReview ?? 0, before: [] });
      case OperationStatus.IN_DOUBT:
        return isSettledByOther(run, other, parts)
          ? waitFor(key)
          : askPerson(run, other, parts, { before: [] });
      default:
        return waitFor(key);
    }
  }
  return undefined;
}
