import type { EventMeta, EventValue } from "../event.js";
import type { MutableRun } from "../state.js";
import { isSettled } from "../transitions.js";
import { CorruptHistory } from "./corrupt.js";
import { operationOf } from "./operations.js";

/** Code that runs again was given what an earlier generation's operation came to: from here on it stands among what this generation was given. */
export function applyOperationReused(
  run: MutableRun,
  event: EventValue<"operationReused">,
  meta: EventMeta,
): void {
  const operation = operationOf(run, event.operation);
  if (!operation.carried || !isSettled(operation.status)) {
    throw new CorruptHistory(
      `operation ${operation.declaration.key} to be settled by an earlier generation`,
      "it is not, or was asked for before",
    );
  }
  operation.carried = false;
  operation.task = event.task;
  operation.leaseVersion = event.leaseVersion;
  operation.settledEvent = meta.number;
  operation.settledSeenThrough = event.seenThrough;
  operation.version++;
}
