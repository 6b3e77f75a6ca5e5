import type { Rejection } from "../core/rejection.js";
import { damaged, RejectionError } from "../kernel/outcome.js";
import { CallerGone } from "./call-scope.js";
import { JsonDigesterError } from "./digest/json-digester.js";
import type { Edge } from "./edge.js";
import { internalFault, unavailable } from "./refusals.js";
import { SchemaCheckerError } from "./schema/schema-checker.js";
import { StatusError } from "./status-error.js";

/**
 * What a caller is told of an error; undefined when there is nobody left to tell. An error that no rule knows is a fault of the
 * kernel: it is reported in full to whoever runs it, and the caller learns only that. Damage of what is stored is reported as well, and named.
 *
 * @param where What was being done, for the report: the name of the method.
 */
export function rejectionOf(edge: Edge, error: unknown, where: string): Rejection | undefined {
  if (error instanceof RejectionError) {
    edge.meter.refused(error.rejection);
    return error.rejection;
  }
  if (error instanceof CallerGone) {
    return undefined;
  }
  const { lifecycle } = edge;
  if (lifecycle.state === "failed" && lifecycle.refusal !== undefined) {
    edge.meter.refused(lifecycle.refusal);
    return lifecycle.refusal;
  }
  if (error instanceof JsonDigesterError) {
    return unavailable("its digest thread has ended");
  }
  if (error instanceof SchemaCheckerError) {
    return unavailable("its schema checker has ended");
  }
  edge.onFault(error, where);
  const damage = damaged(error);
  if (damage !== undefined) {
    edge.meter.refused(damage);
    return damage;
  }
  return internalFault();
}

/** How a call ends: as `rejectionOf` says, or with a status that a standard service prescribes. */
export function endOf(
  edge: Edge,
  error: unknown,
  where: string,
): Rejection | StatusError | undefined {
  return error instanceof StatusError ? error : rejectionOf(edge, error, where);
}
