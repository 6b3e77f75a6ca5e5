import { OperationStatus } from "@pawl/proto/v1/operation_pb.js";
import type { Operation, Run } from "./state.js";
import { isSettled } from "./transitions.js";

/** True while an operation's effect may happen yet, or may have happened: neither settled, nor an intent whose call provably never left. */
export function isEffectOpen({ status, callOpen }: Operation): boolean {
  return !isSettled(status) && (status !== OperationStatus.INTENDED || callOpen);
}

/** Number of an operation of the run whose effect is open; undefined: none. */
export function findOpenEffect(run: Pick<Run, "operations" | "unsettled">): number | undefined {
  for (const number of run.unsettled) {
    const operation = run.operations[number];
    if (operation !== undefined && isEffectOpen(operation)) {
      return number;
    }
  }
  return undefined;
}
