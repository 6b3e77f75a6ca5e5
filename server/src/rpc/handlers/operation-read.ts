import type { MessageInitShape } from "@bufbuild/protobuf";
import { OperationSchema, OperationStatus } from "@pawl/proto/v1/operation_pb.js";
import type {
  GetOperationRequest,
  GetOperationResponseSchema,
  ListOperationsRequest,
  ListOperationsResponseSchema,
} from "@pawl/proto/v1/operation_service_pb.js";
import { notFound } from "../../core/rejection.js";
import { RejectionError } from "../../kernel/outcome.js";
import { requireOperationKey } from "../commands/operation.js";
import type { Edge } from "../edge.js";
import { readPage } from "../page-request.js";
import { readNamespace, requireKnown } from "../validate/fields.js";
import { operationView } from "../views/operation-view.js";
import { requireListedRun } from "./requests.js";

/** Reads one operation, with its contents. */
export async function getOperation(
  edge: Edge,
  request: GetOperationRequest,
): Promise<MessageInitShape<typeof GetOperationResponseSchema>> {
  const namespace = readNamespace(request.namespace);
  const { key } = request;
  requireOperationKey(key, "key");
  const number = await edge.kernel.findOperation(namespace, key);
  const operation =
    number === undefined
      ? undefined
      : await edge.kernel.view({ kind: "number", number }, (run, runNumber) =>
          operationView(run, run.operationsByKey.get(key) ?? -1, { runNumber, withPayloads: true }),
        );
  if (operation === undefined) {
    throw new RejectionError(notFound("operation", key));
  }
  return { operation };
}

/** Lists operations of one run, or of a namespace by state. */
export async function listOperations(
  edge: Edge,
  request: ListOperationsRequest,
): Promise<MessageInitShape<typeof ListOperationsResponseSchema>> {
  const { runId, status } = request;
  const namespace = readNamespace(request.namespace);
  requireKnown(status, "status", OperationStatus);
  await requireListedRun(edge, { namespace, runId });
  const filter = { namespace, runId, status };
  const page = await edge.kernel.listOperations(
    filter,
    readPage(OperationSchema, request),
    (run, operation, runNumber) =>
      operationView(run, operation, { runNumber, withPayloads: false }) ?? {},
  );
  return { operations: [...page.items], nextPageToken: page.nextPageToken };
}
