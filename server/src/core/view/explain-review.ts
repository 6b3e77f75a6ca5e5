import { OperationStatus } from "@pawl/proto/v1/operation_pb.js";
import type { Run } from "../state.js";

/** What a person is to do about a review of an operation, as the rest of a sentence. */
export function explainOperationReview(run: Run, review: number | undefined): string {
  const number = review === undefined ? undefined : run.reviews[review]?.operation;
  const operation = number === undefined ? undefined : run.operations[number];
  return operation?.status === OperationStatus.NEEDS_REVIEW
    ? `nobody knows whether operation "${operation.declaration.name}" took effect; look at the sink and resolve its review`
    : "resolve its review";
}
