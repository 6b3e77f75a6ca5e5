import { ReviewChoice, ReviewSubject } from "@pawl/proto/v1/review_pb.js";
import type { Review, Run } from "./state.js";
import { isRunOpen } from "./transitions.js";

/** What a person may decide about this review now. */
export function legalChoices(run: Run, review: Review): ReviewChoice[] {
  if (review.resolvedAtMs !== 0) {
    return [];
  }
  const isOpen = run.kind === "ledger" || isRunOpen(run.status);
  const { DONE, RETRY, ABANDON, FAIL } = ReviewChoice;
  if (review.subject === ReviewSubject.OPERATION) {
    const choices: ReviewChoice[] = isOpen ? [DONE, RETRY, ABANDON] : [DONE, ABANDON];
    return isOpen && run.kind === "run" ? [...choices, FAIL] : choices;
  }
  return isOpen ? [RETRY] : [];
}
