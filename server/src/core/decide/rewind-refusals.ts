import { RewindKind } from "@pawl/proto/log/v1/event_pb.js";
import { OperationStatus } from "@pawl/proto/v1/operation_pb.js";
import type { DecideContext } from "../context.js";
import type { Dropping } from "../dropped-records.js";
import { isEffectOpen } from "../open-effects.js";
import { nameOfTask } from "../plan/tasks-of-run.js";
import { illegalTransition, type Rejection } from "../rejection.js";
import type { Run } from "../state.js";
import { operationStatusName } from "../transitions.js";
import type { RewindScope } from "./rewind-scope.js";

/** Why a run cannot go on from there: what it did was undone, or what it did is not known yet. */
export function refuseRewind(
  run: Run,
  scope: RewindScope,
  { kind, keptThrough }: Dropping,
  ctx: DecideContext,
): Rejection | undefined {
  return (
    refuseRolledBack(run, scope) ??
    refuseUnsettled(run, ctx, (task) =>
      // What failed with an outcome in doubt is tried again under its review; what undoes it must be over.
      kind === RewindKind.RETRY ? scope.gone.has(task) : keptThrough.has(task),
    )
  );
}

/** The effects are reused under their keys, but they are not there any more. */
function refuseRolledBack(run: Run, { gone }: RewindScope): Rejection | undefined {
  const undone = run.operations.find(
    ({ task, status }) =>
      gone.has(task) &&
      run.tasks[task]?.rollsBack !== undefined &&
      status === OperationStatus.OBSERVED,
  );
  if (undone === undefined) {
    return undefined;
  }
  const name = nameOfTask(run, run.tasks[undone.task]?.rollsBack ?? -1);
  return illegalTransition(
    "PAWL_ROLLED_BACK",
    { entity: "task", status: "ROLLED BACK", command: "RewindRun", legal: [] },
    `Expected what task "${name}" of run "${run.runId}" did to be in place still, but it was undone ("${undone.declaration.key}" is OBSERVED): its effects cannot be reused. Next: start the work anew under another run id.`,
  );
}

function refuseUnsettled(
  run: Run,
  ctx: DecideContext,
  concerns: (task: number) => boolean,
): Rejection | undefined {
  for (const number of run.unsettled) {
    const operation = run.operations[number];
    if (operation === undefined || !isEffectOpen(operation) || !concerns(operation.task)) {
      continue;
    }
    const status = operationStatusName(operation.status);
    const { key } = operation.declaration;
    const next =
      operation.openReview === undefined
        ? "wait until it is settled, or look it up"
        : `resolve review ${reviewId(run, ctx, operation.openReview)}`;
    return illegalTransition(
      "PAWL_OPERATIONS_UNSETTLED",
      { entity: "operation", status, command: "RewindRun", legal: ["settle it"] },
      `Expected every operation after the point to be settled before run "${run.runId}" goes on from there, but "${key}" is ${status}: it may have happened. Next: ${next}, then send it again.`,
    );
  }
  return undefined;
}

function reviewId({ incarnation }: Run, { runNumber }: DecideContext, review: number): string {
  return `${runNumber}-${review}${incarnation === 1 ? "" : `-${incarnation}`}`;
}
