import { OperationStatus } from "@pawl/proto/v1/operation_pb.js";
import { RunStatus, TaskStatus } from "@pawl/proto/v1/run_pb.js";
import type { EventBody } from "@pawl/server/core/event.js";
import type { Operation, Run, Task } from "@pawl/server/core/state.js";
import type { StoredEvent } from "@pawl/server/kernel/kernel-api.js";
import { statesOf } from "../incarnations.js";
import type { ShadowLog, ShadowRun } from "../shadow-log.js";

/** Nothing is undone while the effect of another operation of the run may happen yet. Asked as the intent becomes durable. */
export function requireSettled(
  { number: runNumber, state }: ShadowRun,
  { body }: StoredEvent,
  complain: (text: string) => void,
): void {
  if (body.case !== "operationIntended" || body.value.declaration === undefined) {
    return;
  }
  const { task, operation: own } = body.value;
  if (state.tasks[task]?.rollsBack === undefined) {
    return;
  }
  for (const { number, status, callOpen, declaration } of state.operations) {
    const mayHappen =
      status === OperationStatus.IN_DOUBT ||
      status === OperationStatus.NEEDS_REVIEW ||
      (status === OperationStatus.INTENDED && callOpen);
    if (number !== own && mayHappen) {
      complain(
        `run ${runNumber} undoes something while ${declaration.key} is ${status} and may happen yet`,
      );
    }
  }
}

/**
 * What functions said how to undo: it is undone, the latest first, when one has failed or was cancelled, and never when one has completed.
 */
export function checkRollbacks(shadow: ShadowLog, complain: (text: string) => void): void {
  for (const run of shadow.runs.values()) {
    for (const state of statesOf(run)) {
      for (const task of state.tasks) {
        const wrong = judge(run, state, task);
        if (wrong !== "") {
          complain(
            `run ${run.number}, incarnation ${state.incarnation}, task ${task.number}: ${wrong}`,
          );
        }
      }
    }
  }
}

function judge(run: ShadowRun, state: Run, task: Task): string {
  const recorded = state.steps
    .filter((step) => step.task === task.number && step.rollback !== undefined)
    .map(({ rollback }) => rollback?.operation ?? "");
  const undoing = state.tasks.find(({ rollsBack }) => rollsBack === task.number);
  const isDue =
    recorded.length > 0 &&
    (task.status === TaskStatus.FAILED || task.status === TaskStatus.CANCELLED);
  const isCut = state.status === RunStatus.TERMINATED;
  if (undoing === undefined) {
    return isDue && !isCut ? `it said how to undo ${recorded}, but nobody does` : "";
  }
  if (!isDue) {
    return `it is ${task.status} and recorded ${recorded}, but it is rolled back`;
  }
  const undone = state.operations.filter(({ declaration }) => declaration.task === undoing.number);
  const names = undone.map(({ declaration }) => declaration.name);
  const expected = recorded.toReversed();
  if (names.join() !== expected.slice(0, names.length).join()) {
    return `what it recorded is ${recorded}, but undone is ${names}`;
  }
  const isDone = hasReported(run, state, undoing.number);
  return isDone && (names.length !== expected.length || !undone.every(isSettled))
    ? `what it recorded is ${recorded}, but only ${names} were undone`
    : "";
}

function isSettled({ status }: Operation): boolean {
  return (
    status === OperationStatus.OBSERVED ||
    status === OperationStatus.REFUSED ||
    status === OperationStatus.ABANDONED
  );
}

/** True when a task completed by its own report, not by a person's word. */
function hasReported({ events }: ShadowRun, { begunAtEvent }: Run, task: number): boolean {
  const isReport = (body: EventBody): boolean =>
    body.case === "taskCompleted" && body.value.task === task;
  const last = events.findIndex(
    ({ body, number }) =>
      number > begunAtEvent && (body.case === "runRestarted" || body.case === "runContinued"),
  );
  const own = events.slice(begunAtEvent, last === -1 ? events.length : last);
  return own.some(({ body }) => isReport(body));
}
