import { OperationScope } from "@pawl/proto/v1/operation_pb.js";
import { ReviewChoice, ReviewSubject } from "@pawl/proto/v1/review_pb.js";
import type { Operation, Review, Run } from "./state.js";
import { isRunOpen, isTaskClosed } from "./transitions.js";

const { ACCEPT, DONE, RETRY, NOT_DONE, ABANDON, SKIP, FAIL } = ReviewChoice;

/** What a person may decide about this review now. */
export function legalChoices(run: Run, review: Review): ReviewChoice[] {
  if (review.resolvedAtMs !== 0) {
    return [];
  }
  switch (review.subject) {
    case ReviewSubject.OPERATION:
      return choicesOfOperation(run, run.operations[review.operation]);
    case ReviewSubject.TASK:
      return isRunOpen(run.status)
        ? [...(review.returned === undefined ? [] : [ACCEPT]), RETRY, DONE, SKIP, FAIL]
        : [];
    case ReviewSubject.REUSE:
      return isRunOpen(run.status) ? [ACCEPT, FAIL] : [];
    default:
      return isRunOpen(run.status) ? [RETRY] : [];
  }
}

function choicesOfOperation(run: Run, operation: Operation | undefined): ReviewChoice[] {
  if (operation === undefined || !mayBeCalledAgain(run, operation)) {
    return [DONE, NOT_DONE, ABANDON];
  }
  const task = run.tasks[operation.task];
  const hasTask = run.kind === "run" && task !== undefined && !isTaskClosed(task.status);
  return [DONE, RETRY, NOT_DONE, ABANDON, ...(hasTask ? [FAIL] : [])];
}

/** True while someone may still intend an operation: nobody in particular in scope NAMESPACE, any open task in scope RUN, else its own task. */
export function mayBeCalledAgain(run: Run, operation: Operation): boolean {
  if (run.kind === "ledger") {
    return true;
  }
  const task = run.tasks[operation.task];
  return (
    isRunOpen(run.status) &&
    (operation.declaration.scope === OperationScope.RUN ||
      (task !== undefined && !isTaskClosed(task.status)))
  );
}
