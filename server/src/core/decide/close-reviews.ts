import { ReviewChoice, ReviewSubject } from "@pawl/proto/v1/review_pb.js";
import type { DecideContext } from "../context.js";
import type { EventBody } from "../event.js";
import type { Run } from "../state.js";

/**
 * Closes the open reviews that ask what becomes of the run or of its tasks: that they end is the answer. Those of operations stay open: what
 * happened at a sink must still be said.
 * @param only one subject, and then not of what rolls back; default: both.
 */
export function closeMootReviews(
  run: Run,
  reason: string,
  ctx: DecideContext,
  only?: ReviewSubject,
): EventBody[] {
  return run.reviews
    .filter(
      ({ subject, resolvedAtMs, task }) =>
        resolvedAtMs === 0 &&
        (only === undefined
          ? subject !== ReviewSubject.OPERATION
          : subject === only && run.tasks[task]?.rollsBack === undefined),
    )
    .map((review) => ({
      case: "reviewResolved",
      value: {
        review: review.number,
        choice: ReviewChoice.ABANDON,
        reason,
        principal: ctx.principal,
      },
    }));
}

/** Closes the open review of a task that ends: there is at most one. */
export function closeTaskReview(
  run: Run,
  task: number,
  { principal }: Pick<DecideContext, "principal">,
  reason: string = "The task that called it wants it no more.",
): EventBody[] {
  const review = run.tasks[task]?.openReview;
  return review === undefined
    ? []
    : [
        {
          case: "reviewResolved",
          value: {
            review,
            choice: ReviewChoice.ABANDON,
            reason,
            principal,
          },
        },
      ];
}
