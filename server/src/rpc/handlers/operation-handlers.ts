import type { OperationService } from "@pawl/proto/v1/operation_service_pb.js";
import type { Edge } from "../edge.js";
import type { ServiceHandlers } from "./handler.js";
import { getOperation, listOperations } from "./operation-read.js";
import { intendOperation, observeOperation, reconcileOperation } from "./operation-write.js";

/** Handlers of OperationService. */
export function operationHandlers(edge: Edge): ServiceHandlers<typeof OperationService> {
  return {
    intendOperation: (request, call) => intendOperation(edge, request, call),
    observeOperation: (request, call) => observeOperation(edge, request, call),
    reconcileOperation: (request, call) => reconcileOperation(edge, request, call),
    getOperation: (request) => getOperation(edge, request),
    listOperations: (request) => listOperations(edge, request),
  };
}
