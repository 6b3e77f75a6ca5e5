import { ObligationStatus } from "@pawl/proto/v1/obligation_pb.js";
import type { EventBody, EventValue } from "../../core/event.js";
import type { Obligation } from "../../core/state.js";
import { runStatusName } from "../../core/transitions.js";
import type { Parts } from "./history-view.js";

/** Types of the events about obligations. */
export type ObligationCase = "obligationMade" | "obligationSettled" | "childEnded";

/** What the receiver made of it, as the rest of a sentence that begins with its name. */
const answers: Readonly<Partial<Record<ObligationStatus, string>>> = {
  [ObligationStatus.DELIVERED]: "has recorded it",
  [ObligationStatus.RUN_OVER]: "had ended",
  [ObligationStatus.NOT_FOUND]: "does not exist",
  [ObligationStatus.FULL]: "had no room for another signal",
  [ObligationStatus.EXISTS]: "exists, and is no child of this one",
};

/** What the history shows of an event about an obligation. `find` finds one of its run by number. */
export function partsOfObligation(
  body: Extract<EventBody, { case: ObligationCase }>,
  find: (number: number) => Obligation | undefined,
): Parts {
  if (body.case === "obligationMade") {
    return partsOfMade(body.value);
  }
  if (body.case === "childEnded") {
    const { obligation, status, output, failure } = body.value;
    const runId = find(obligation)?.declaration.runId ?? "";
    return { payload: output, failure, detail: `Child "${runId}" is ${runStatusName(status)}.` };
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
    case "child": {
      const { workflow, input } = order.value;
      const detail = `It starts run "${runId}" of workflow "${workflow}" as its child.`;
      return { ...of, payload: input, detail };
    }
    case "terminate":
      return { principal, detail: `It ends its child "${runId}", since it has ended itself.` };
    case "ended":
      return { detail: `It tells its parent "${runId}" of its end.` };
    default:
      return { ...of, detail: `It sends something to run "${runId}".` };
  }
}
