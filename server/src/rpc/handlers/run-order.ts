import type { Command } from "../../core/command.js";
import type { Run } from "../../core/state.js";
import { executeOne } from "../answers.js";
import type { CallContext } from "../call-scope.js";
import type { Edge } from "../edge.js";
import { requireReason } from "../validate/fields.js";
import { type RunFields, targetOfRun } from "./requests.js";

/** What every order to a run as a whole says: to pause, resume, cancel, terminate. */
export interface RunOrder {
  readonly expectedVersion: number | undefined;
  readonly reason: string;
}

/** What every such order is answered. */
export interface RunOrdered {
  readonly existing: boolean;
  readonly version: number;
  readonly position: Uint8Array;
}

/**
 * Gives an order to a run and answers once it is durable.
 *
 * @param commandOf the command that is the order.
 * @param more what else the answer says of the run as it is then.
 */
export async function orderRun<T extends object>(
  { edge, call }: { readonly edge: Edge; readonly call: CallContext },
  request: RunFields & { readonly expectedVersion?: number | undefined; readonly reason: string },
  commandOf: (order: RunOrder) => Command,
  more: (run: Run) => T,
): Promise<RunOrdered & T> {
  const target = targetOfRun(request);
  const { expectedVersion, reason } = request;
  requireReason(reason, "reason");
  const order = { target, command: commandOf({ expectedVersion, reason }) };
  const { value, position } = await executeOne(edge, order, call.caller, ({ reply, run }) => ({
    existing: reply.existing,
    version: run.version,
    ...more(run),
  }));
  return { ...value, position };
}
