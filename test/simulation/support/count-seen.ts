import type { EventBody } from "@pawl/server/core/event.js";
import type { ShadowLog } from "./shadow-log.js";
import type { Witness } from "./witness.js";

/** How often each kind of thing happened in a simulation: what never does in any is not tested by it. */
export function countSeen(shadow: ShadowLog, witness: Witness): Map<string, number> {
  const seen = new Map<string, number>();
  const count = (what: string): void => {
    seen.set(what, (seen.get(what) ?? 0) + 1);
  };
  for (const { events, state } of shadow.runs.values()) {
    for (const { body } of events) {
      count(body.case);
      count(detailOf(body));
    }
    count(`${state.kind} status ${state.status}`);
  }
  for (const { order, answer } of witness.told) {
    const { kind } = order.command;
    count(`told ${kind}${answer.existing ? " existing" : ""}`);
    count(`told ${kind} ${answer.intent?.case ?? "anyhow"}`);
    if (order.command.kind === "StartRun") {
      count(`told start by ${order.command.onExisting}${answer.existing ? "" : " anew"}`);
    }
  }
  return seen;
}

function detailOf(body: EventBody): string {
  switch (body.case) {
    case "stepRecorded":
      if (body.value.answers !== undefined) return "update answered";
      return body.value.publishes === undefined ? "anything" : "published";
    case "leaseEnded":
      return `lease ended: ${body.value.reason}`;
    case "operationObserved":
      return `observed: ${body.value.outcome.case}${body.value.late ? " late" : ""}`;
    case "operationReconciled":
      return `reconciled: ${body.value.finding.case}`;
    case "obligationSettled":
      return `obligation answered: ${body.value.status}`;
    case "waitEnded":
      return `wait ended: ${body.value.outcome.case}`;
    case "taskChanged":
      return `changed: ${body.value.change.case}`;
    case "reviewResolved":
      return `resolved: ${body.value.choice}`;
    default:
      return "anything";
  }
}
