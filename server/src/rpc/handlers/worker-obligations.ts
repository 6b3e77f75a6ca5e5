import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import {
  type ItemResult,
  ItemResultSchema,
  type ObligationItem,
  ObligationItemSchema,
  type RecordObligationsRequest,
  type RecordObligationsResponseSchema,
} from "@pawl/proto/v1/worker_service_pb.js";
import { decodeObligationItem, encodeItemResult } from "@pawl/proto/v1/worker_service_wire.js";
import { limits } from "../../core/limits.js";
import type { Rejection } from "../../core/rejection.js";
import type { Outcome } from "../../kernel/outcome.js";
import { executeAll, type Order } from "../answers.js";
import type { CallContext } from "../call-scope.js";
import { obligationCommand } from "../commands/obligation.js";
import type { Edge } from "../edge.js";
import { rejectionOf } from "../fault.js";
import { internalFault } from "../refusals.js";
import { requireCount } from "../validate/fields.js";
import { obligationAnswer } from "../views/obligation-view.js";
import { rejectionMessage } from "../views/rejection-view.js";
import { acknowledge, leaseOfRequest, type NamedLease } from "./requests.js";

/** Sends something to other runs from one task: one result each, in order. */
export async function recordObligations(
  edge: Edge,
  request: RecordObligationsRequest,
  call: CallContext,
): Promise<MessageInitShape<typeof RecordObligationsResponseSchema>> {
  const lease = leaseOfRequest(request);
  const { obligations } = request;
  requireCount(obligations.length, "obligations", limits.batchItemsMax);
  await acknowledge(edge, lease);
  const orders = obligations.map((item) => orderOf(edge, item, lease));
  const { value, position } = await executeAll(edge, orders, call.caller, (outcome, index) =>
    resultOf(outcome, obligations[index]?.correlation ?? 0),
  );
  return { results: value, position };
}

function orderOf(
  edge: Edge,
  item: ObligationItem,
  { target, task, leaseVersion }: NamedLease,
): Order | Rejection {
  try {
    const shape = decodeObligationItem(toBinary(ObligationItemSchema, item));
    // The request names the lease once for all.
    return { target, command: obligationCommand({ ...shape, leaseVersion }, task) };
  } catch (error) {
    return rejectionOf(edge, error, "RecordObligations") ?? internalFault();
  }
}

function resultOf(outcome: Outcome, correlation: number): ItemResult {
  if (!outcome.accepted) {
    const rejection = rejectionMessage(outcome.rejection);
    return create(ItemResultSchema, { correlation, rejection });
  }
  const { reply, run } = outcome;
  const { existing, obligation: number } = reply;
  const obligation = number === undefined ? undefined : obligationAnswer(run, number);
  return fromBinary(ItemResultSchema, encodeItemResult({ correlation, existing, obligation }));
}
