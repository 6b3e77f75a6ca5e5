import { DoubtCause } from "@pawl/proto/log/v1/event_pb.js";
import { OperationStatus } from "@pawl/proto/v1/operation_pb.js";
import type { EventBody } from "../event.js";
import type { Run } from "../state.js";

/** The operations whose call was under way under this lease become unknown when it ends without their observation. */
export function doubtOpenCalls(run: Run, task: number, leaseVersion: number): EventBody[] {
  const events: EventBody[] = [];
  for (const number of run.tasks[task]?.unsettled ?? []) {
    const operation = run.operations[number];
    if (
      operation?.status === OperationStatus.INTENDED &&
      operation.callOpen &&
      operation.leaseVersion === leaseVersion
    ) {
      events.push({
        case: "operationDoubted",
        value: { operation: number, cause: DoubtCause.LEASE_ENDED },
      });
    }
  }
  return events;
}
