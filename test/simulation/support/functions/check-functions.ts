import type { ShadowLog } from "../shadow-log.js";
import { checkCalls } from "./check-calls.js";
import { checkGiven } from "./check-given.js";
import { checkReviews } from "./check-reviews.js";
import { checkRollbacks } from "./check-rollbacks.js";
import type { Diaries } from "./diaries.js";

/** Everything that functions are promised. */
export function checkFunctions(
  shadow: ShadowLog,
  diaries: Diaries,
  complain: (text: string) => void,
): void {
  checkGiven(shadow, diaries, complain);
  checkCalls(shadow, complain);
  checkReviews(shadow, complain);
  checkRollbacks(shadow, complain);
}
