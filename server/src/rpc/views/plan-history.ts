import type { EventBody } from "../../core/event.js";
import type { Parts } from "./history-view.js";

/** Events about the plan of a run. */
export type PlanCase = "planRevised" | "reportCameLate";

/** What differs of events about the plan of a run. */
export function partsOfPlan(body: Extract<EventBody, { case: PlanCase }>): Parts {
  switch (body.case) {
    case "planRevised": {
      const { planVersion, tasks, reason, principal, proposer } = body.value;
      const count = tasks.length === 1 ? "1 task" : `${tasks.length} tasks`;
      const why = reason === "" ? "" : ` ("${reason}")`;
      const detail = `The plan is version ${planVersion} from now on, of ${count}${why}.`;
      return proposer === 0 ? { detail, principal } : { task: proposer - 1, detail, principal };
    }
    case "reportCameLate": {
      const { task, leaseVersion, report } = body.value;
      const detail =
        "Its worker reported after a revision of the plan had superseded it: kept as evidence, nothing was changed by it.";
      const of = { task, leaseVersion, detail };
      return report.case === "output"
        ? { ...of, payload: report.value }
        : report.case === "failure"
          ? { ...of, failure: report.value }
          : of;
    }
  }
}
