import type { MessageInitShape } from "@bufbuild/protobuf";
import {
  type OperationSchema,
  OperationScope,
  OperationStatus,
} from "@pawl/proto/v1/operation_pb.js";
import { nameOfTask } from "../../core/plan/tasks-of-run.js";
import type { Run } from "../../core/state.js";
import { partId } from "./part-id.js";
import { failureView, payloadOf, timestampView } from "./payload-view.js";
import { proposalId } from "./proposal-id.js";

/** What an operation's view is made with. */
export interface OperationViewOptions {
  readonly runNumber: number;
  /** Lists leave payloads out. */
  readonly withPayloads: boolean;
}

/** `pawl.v1.Operation` of an operation's state; undefined when the aggregate has no such operation. */
export function operationView(
  run: Run,
  number: number,
  { runNumber, withPayloads }: OperationViewOptions,
): MessageInitShape<typeof OperationSchema> | undefined {
  const operation = run.operations[number];
  if (operation === undefined) {
    return undefined;
  }
  const { declaration, status } = operation;
  const { scope, discriminator } = declaration;
  const intendedAt = timestampView(operation.firstIntendedAtMs);
  const settledAt = timestampView(operation.settledAtMs);
  const isTaskBound = scope === OperationScope.TASK;
  return {
    key: declaration.key,
    uuid: declaration.uuid,
    namespace: run.namespace,
    runId: scope === OperationScope.NAMESPACE ? "" : run.runId,
    task: isTaskBound ? nameOfTask(run, declaration.task) : "",
    name: declaration.name,
    scope,
    target: declaration.target,
    status,
    version: operation.version,
    fingerprint: declaration.fingerprint,
    sinkKind: declaration.sinkKind,
    calls: operation.calls,
    reconciled: operation.reconciled,
    traceparent: run.traceparent,
    reviewId:
      operation.openReview === undefined
        ? ""
        : partId(runNumber, operation.openReview, run.incarnation),
    proposalId: operation.proposal === undefined ? "" : proposalId(runNumber, operation.proposal),
    ...(discriminator === undefined ? {} : { discriminator }),
    ...(intendedAt === undefined ? {} : { intendedAt }),
    ...(settledAt === undefined ? {} : { settledAt }),
    ...(withPayloads && declaration.payload !== undefined
      ? { payload: payloadOf(declaration.payload) }
      : {}),
    ...(withPayloads && status === OperationStatus.OBSERVED && operation.result !== undefined
      ? { result: payloadOf(operation.result) }
      : {}),
    ...(operation.failure === undefined ? {} : { failure: failureView(operation.failure) }),
  };
}
