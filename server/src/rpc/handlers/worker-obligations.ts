import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import {
  type ChildItem,
  ChildItemSchema,
  type ItemResult,
  ItemResultSchema,
  type ObligationItem,
  ObligationItemSchema,
  type RecordObligationsRequest,
  type RecordObligationsResponseSchema,
  type StartChildrenRequest,
  type StartChildrenResponseSchema,
} from "@pawl/proto/v1/worker_service_pb.js";
import {
  decodeChildItem,
  decodeObligationItem,
  encodeItemResult,
} from "@pawl/proto/v1/worker_service_wire.js";
import type { MakeObligation } from "../../core/command.js";
import { limits } from "../../core/limits.js";
import type { Rejection } from "../../core/rejection.js";
import type { Outcome } from "../../kernel/outcome.js";
import { executeAll, type Order } from "../answers.js";
import type { CallContext } from "../call-scope.js";
import { childCommand, obligationCommand } from "../commands/obligation.js";
import type { Edge } from "../edge.js";
import { rejectionOf } from "../fault.js";
import { internalFault } from "../refusals.js";
import { readNamespace, requireCount } from "../validate/fields.js";
import { obligationAnswer } from "../views/obligation-view.js";
import { rejectionMessage } from "../views/rejection-view.js";
import { acknowledge, leaseOfRequest, type NamedLease } from "./requests.js";

/** Sends something to other runs from one task: one result each, in order. */
export function recordObligations(
  edge: Edge,
  request: RecordObligationsRequest,
  call: CallContext,
): Promise<MessageInitShape<typeof RecordObligationsResponseSchema>> {
  const lease = leaseOfRequest(request);
  const { obligations } = request;
  requireCount(obligations.length, "obligations", limits.batchItemsMax);
  const commands = obligations.map((item: ObligationItem) => ({
    correlation: item.correlation,
    make: () => {
      edge.screen.requireClean(item);
      const shape = decodeObligationItem(toBinary(ObligationItemSchema, item));
      // The request names the lease once for all.
      return obligationCommand({ ...shape, leaseVersion: lease.leaseVersion }, lease.task);
    },
  }));
  return makeAll({ edge, call, lease, method: "RecordObligations" }, commands);
}

/** Starts children of one task: one result each, in order. */
export function startChildren(
  edge: Edge,
  request: StartChildrenRequest,
  call: CallContext,
): Promise<MessageInitShape<typeof StartChildrenResponseSchema>> {
  const lease = leaseOfRequest(request);
  const { children } = request;
  requireCount(children.length, "children", limits.batchItemsMax);
  const parts = { namespace: readNamespace(request.namespace), plans: edge.plans };
  const commands = children.map((item: ChildItem) => ({
    correlation: item.correlation,
    make: () => {
      edge.screen.requireClean(item);
      const shape = decodeChildItem(toBinary(ChildItemSchema, item));
      return childCommand({ ...shape, leaseVersion: lease.leaseVersion }, lease.task, parts);
    },
  }));
  return makeAll({ edge, call, lease, method: "StartChildren" }, commands);
}

interface MakingCall {
  readonly edge: Edge;
  readonly call: CallContext;
  readonly lease: NamedLease;
  readonly method: string;
}

interface Making {
  readonly correlation: number;
  readonly make: () => MakeObligation;
}

async function makeAll(
  { edge, call, lease, method }: MakingCall,
  items: readonly Making[],
): Promise<{ results: ItemResult[]; position: Uint8Array }> {
  const { target } = lease;
  await acknowledge(edge, lease);
  const orders = items.map(({ make }): Order | Rejection => {
    try {
      return { target, command: make() };
    } catch (error) {
      return rejectionOf(edge, error, method) ?? internalFault();
    }
  });
  const { value, position } = await executeAll(edge, orders, call.caller, (outcome, index) =>
    resultOf(outcome, items[index]?.correlation ?? 0),
  );
  return { results: value, position };
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
