import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import type { EventBody } from "@pawl/server/core/event.js";
import type { Run } from "@pawl/server/core/state.js";
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
    for (const how of joinsOf(state)) {
      count(`join: ${how}`);
    }
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

/** What joins came to: `unready` is what ended without having been READY, since too few of its needs were left. */
function joinsOf({ plan, tasks }: Run): string[] {
  return plan.tasks.flatMap(({ join, needs, number }) => {
    const task = tasks[number];
    if (join === undefined || task === undefined) {
      return [];
    }
    const { status, inputsEvent, firstReadyAtMs } = task;
    if (firstReadyAtMs === 0) {
      return status === TaskStatus.FAILED || status === TaskStatus.SKIPPED
        ? [`unready ${status}`]
        : [];
    }
    const given = needs.filter((need) => (tasks[need]?.closedEvent || Infinity) <= inputsEvent);
    const isOver = given.some((need) => tasks[need]?.status !== TaskStatus.COMPLETED);
    return [
      ...(given.length < needs.length ? ["without all"] : []),
      ...(isOver ? ["over a failure"] : []),
    ];
  });
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
