import { ObligationStatus } from "@pawl/proto/v1/obligation_pb.js";
import type { EventBody, EventValue } from "../../core/event.js";
import type { Obligation } from "../../core/state.js";
import type { Parts } from "./history-view.js";

/** Types of the events about obligations. */
export type ObligationCase = "obligationMade" | "obligationSettled";

/** What the receiver made of it, as the rest of a sentence that begins with its name. */
const answers: Readonly<Partial<Record<ObligationStatus, string>>> = {
  [ObligationStatus.DELIVERED]: "has recorded it",
  [ObligationStatus.RUN_OVER]: "had ended",
  [ObligationStatus.NOT_FOUND]: "does not exist",
  [ObligationStatus.FULL]: "had no room for another signal",
};

/** What the history shows of an event about an obligation. `find` finds one of its run by number. */
export function partsOfObligation(
  body: Extract<EventBody, { case: ObligationCase }>,
  find: (number: number) => Obligation | undefined,
): Parts {
  if (body.case === "obligationMade") {
    return partsOfMade(body.value);
  }
  const { obligation, status } = body.value;
  const runId = find(obligation)?.declaration.runId ?? "";
  const answer = answers[status] ?? "has answered";
  return { detail: `Run "${runId}" ${answer} (obligation ${obligation}).` };
}

function partsOfMade({ declaration, leaseVersion }: EventValue<"obligationMade">): Parts {
  const { task = 0, runId = "", principal = "", order } = declaration ?? {};
  const of = { task, leaseVersion, principal };
  switch (order?.case) {
    case "signal": {
      const { signal, payload } = order.value;
      return { ...of, payload, detail: `It sends signal "${signal}" to run "${runId}".` };
    }
    case "cancel": {
      const { reason } = order.value;
      const why = reason === "" ? "" : ` ("${reason}")`;
      return { ...of, detail: `It asks run "${runId}" to stop${why}.` };
    }
    default:
      return { ...of, detail: `It sends something to run "${runId}".` };
  }
}
