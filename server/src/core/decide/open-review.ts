import type { FailureShape } from "@pawl/proto/v1/failure_wire.js";
import { SinkKind } from "@pawl/proto/v1/operation_pb.js";
import { ReviewSubject } from "@pawl/proto/v1/review_pb.js";
import type { EventBody } from "../event.js";
import { nameOfTask } from "../plan/tasks-of-run.js";
import type { Operation, Run } from "../state.js";
import { isRunOpen, isTaskClosed } from "../transitions.js";
import type { FoundTask } from "./find.js";

/** What a review of an operation is opened about. */
export interface OperationReviewParts {
  readonly subject: ReviewSubject;
  readonly operation: Operation;
  /** Task that needs the decision. */
  readonly task: number;
  /** True when it would be called again now, were its approval not over. */
  readonly isApprovalOver?: boolean;
}

/** Opens a review of an operation, saying what is known in a sentence for people. */
export function openReview(run: Run, parts: OperationReviewParts): EventBody {
  const { operation } = parts;
  return {
    case: "reviewOpened",
    value: {
      review: run.reviews.length,
      subject: parts.subject,
      operation: operation.number,
      task: parts.task,
      known: describeKnown(run, parts),
    },
  };
}

/** Opens a review of a task that no further attempt is made of by itself, saying what is known in a sentence for people. */
export function openTaskReview(
  run: Run,
  { task, spec }: FoundTask,
  failure: Pick<FailureShape, "kind" | "message">,
  workerLosses: number,
): EventBody {
  const isLost = workerLosses >= spec.retry.workerLossesMax;
  const workers = [...(task.trouble?.failures ?? []).map(({ worker }) => worker), task.worker];
  const names = [...new Set(workers.slice(-workerLosses))].map((name) => `"${name}"`).join(", ");
  const undone = task.rollsBack === undefined ? "" : nameOfTask(run, task.rollsBack);
  const what = isLost
    ? `Task "${spec.name}" lost its worker in ${workerLosses} attempts in a row (${names}): what it does may end every process that does it. Look at the workers' logs before you decide.`
    : undone !== ""
      ? `What task "${undone}" did could not be rolled back: ${failure.kind}: ${shorten(failure.message)}`
      : `Task "${spec.name}" used up ${spec.retry.attemptsMax === 1 ? "its only attempt" : `its ${spec.retry.attemptsMax} attempts`}; the last one, at worker "${task.worker}", failed with ${failure.kind}: ${shorten(failure.message)}`;
  return {
    case: "reviewOpened",
    value: {
      review: run.reviews.length,
      subject: ReviewSubject.TASK,
      operation: 0,
      task: task.number,
      known: what,
    },
  };
}

/** Longest message that is quoted, in UTF-16 code units. */
const quotedMax = 300;

/** Never cuts a surrogate pair in half. */
function shorten(text: string): string {
  return text.length <= quotedMax
    ? text
    : `${text.slice(0, quotedMax).replace(/[\ud800-\udbff]$/, "")}…`;
}

function describeKnown(run: Run, { operation, isApprovalOver }: OperationReviewParts): string {
  const { declaration, calls, failure } = operation;
  const times = calls === 1 ? "once" : `${calls} times`;
  const target = declaration.target === "" ? "" : ` on "${declaration.target}"`;
  const last = failure === undefined ? "" : ` The last call ended with "${failure.message}".`;
  return (
    `"${declaration.name}"${target} was intended ${times} under key "${declaration.key}"; ` +
    `${isApprovalOver === true ? approvalOver : `whether its effect happened is unknown, and ${sayWhy(run, operation)}`}.${last} ` +
    "Look at the sink before you decide."
  );
}

const approvalOver =
  "it would be called again now, but the time for which it was approved is over, so a person must say";

function sayWhy(run: Run, operation: Operation): string {
  if (!isRunOpen(run.status)) {
    return "its run is over, so no task will find out";
  }
  const task = run.tasks[operation.task];
  if (run.kind === "run" && task !== undefined && isTaskClosed(task.status)) {
    return "its task is over, so no attempt will find out";
  }
  switch (operation.declaration.sinkKind) {
    case SinkKind.IDEMPOTENT:
      return "the sink's key window is over";
    case SinkKind.RECONCILABLE:
      return `${operation.lookUps} look-ups could not tell`;
    default:
      return "the sink can neither repeat a call safely nor look one up";
  }
}
