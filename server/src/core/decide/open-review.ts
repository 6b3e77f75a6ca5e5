import { SinkKind } from "@pawl/proto/v1/operation_pb.js";
import type { ReviewSubject } from "@pawl/proto/v1/review_pb.js";
import type { EventBody } from "../event.js";
import type { Operation, Run } from "../state.js";
import { isRunOpen } from "../transitions.js";

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
  switch (operation.declaration.sinkKind) {
    case SinkKind.IDEMPOTENT:
      return "the sink's key window is over";
    case SinkKind.RECONCILABLE:
      return `${operation.lookUps} look-ups could not tell`;
    default:
      return "the sink can neither repeat a call safely nor look one up";
  }
}
