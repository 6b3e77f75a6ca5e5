import type { EventBody } from "../event.js";
import type { Run } from "../state.js";
import { endWaits } from "./end-waits.js";

/**
 * Wakes the tasks that wait beside a review for its resolution. Comes before what resolves it, in the same commit: what the code is then given of the operation stands
 * behind the end of its wait.
 *
 * @param review its number; undefined: there is none.
 */
export function endReviewWaits(run: Run, review: number | undefined): EventBody[] {
  return review === undefined || run.openWaitsBySubject.size === 0
    ? []
    : endWaits(run, { case: "review", value: { review } }, { case: "review", value: { review } });
}
