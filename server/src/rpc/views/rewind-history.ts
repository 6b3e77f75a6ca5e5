import { RewindKind } from "@pawl/proto/log/v1/event_pb.js";
import type { EventBody } from "../../core/event.js";
import type { Parts } from "./history-view.js";

/** Events by which a run goes on from an earlier point, and takes up what it had done. */
export type RewindCase = "runRewound" | "operationReused";

/** What history shows of them. */
export function partsOfRewind(body: Extract<EventBody, { case: RewindCase }>): Parts {
  if (body.case === "operationReused") {
    const { operation, task, leaseVersion } = body.value;
    const detail = "Its result of an earlier generation is reused; the sink is not called.";
    return { operation, task, leaseVersion, detail };
  }
  const { generation, kind, reopened, gone, point, reason, principal } = body.value;
  const what =
    kind === RewindKind.RETRY
      ? "What failed is tried again"
      : `The run goes on from an earlier point (${point})`;
  const left = gone.length === 0 ? "" : `, ${gone.length} are no longer of it`;
  const why = reason === "" ? "" : ` Reason: "${reason}".`;
  const detail = `${what}, as generation ${generation}: ${reopened.length} tasks are open again${left}.${why}`;
  return { detail, principal };
}
