import type { EventBody } from "../../core/event.js";

/** Events about deletion and what keeps from it. */
export type DeletionCase = "runDeleted" | "runPurged" | "legalHoldChanged" | "retentionChanged";

/** What a line of history says of an event about deletion. */
export function partsOfDeletion(body: Extract<EventBody, { case: DeletionCase }>): {
  readonly detail?: string;
  readonly principal?: string;
} {
  switch (body.case) {
    case "runDeleted": {
      const { reason, principal } = body.value;
      const why = principal === "" ? ", since its retention is over" : quoted(reason);
      return { detail: `It was deleted${why}.`, principal };
    }
    case "legalHoldChanged": {
      const { held, reason, principal } = body.value;
      const what = held ? "A legal hold began" : "The legal hold ended";
      return { detail: `${what}${quoted(reason)}.`, principal };
    }
    case "retentionChanged": {
      const { namespace, principal } = body.value;
      return { detail: `What namespace "${namespace}" keeps was changed.`, principal };
    }
    case "runPurged":
      return {};
  }
}

function quoted(reason: string): string {
  return reason === "" ? "" : ` ("${reason}")`;
}
