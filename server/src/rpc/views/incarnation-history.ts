import type { EventBody } from "../../core/event.js";
import type { Parts } from "./history-view.js";

/** Events by which a run goes on as another incarnation, or runs out of time. */
export type IncarnationCase = "runContinued" | "runTimedOut";

/** What history shows of them. */
export function partsOfIncarnation(body: Extract<EventBody, { case: IncarnationCase }>): Parts {
  if (body.case === "runTimedOut") {
    return { detail: `The run is stopped. ${body.value.reason}` };
  }
  const { incarnation, task, leaseVersion, attempt, input } = body.value;
  const detail = `Its function is done; the run goes on with another input, as incarnation ${incarnation}.`;
  return { task, leaseVersion, attempt, payload: input, detail };
}
