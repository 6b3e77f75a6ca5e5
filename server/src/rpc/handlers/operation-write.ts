import { fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import {
  type IntentAnswer,
  IntentAnswerSchema,
  ObservationSchema,
  OperationRequestSchema,
  OperationScope,
  ReconciliationSchema,
} from "@pawl/proto/v1/operation_pb.js";
import type {
  IntendOperationRequest,
  IntendOperationResponseSchema,
  ObserveOperationRequest,
  ObserveOperationResponseSchema,
  OperationHolder,
  ReconcileOperationRequest,
  ReconcileOperationResponseSchema,
} from "@pawl/proto/v1/operation_service_pb.js";
import {
  decodeObservation,
  decodeOperationRequest,
  decodeReconciliation,
  encodeIntentAnswer,
  type OperationRequestShape,
} from "@pawl/proto/v1/operation_wire.js";
import type { Target } from "../../kernel/outcome.js";
import { admit, admitFirst, isLarge } from "../admission.js";
import { type Accepted, executeOne } from "../answers.js";
import type { CallContext } from "../call-scope.js";
import {
  findingOf,
  intentCommand,
  observedOutcome,
  requireOperationKey,
  targetOfIntent,
  targetOfKey,
} from "../commands/operation.js";
import { jsonDocumentOf } from "../content.js";
import type { Edge } from "../edge.js";
import { badField } from "../refusals.js";
import { readNamespace, requireIntentId, requirePresent } from "../validate/fields.js";
import { intentAnswer } from "../views/intent-view.js";
import { acknowledge, leaseOf, type NamedLease } from "./requests.js";

/** Records the intent of an effect and says what to do now. */
export async function intendOperation(
  edge: Edge,
  request: IntendOperationRequest,
  call: CallContext,
): Promise<MessageInitShape<typeof IntendOperationResponseSchema>> {
  const namespace = readNamespace(request.namespace);
  const operation = decodeOperationRequest(
    toBinary(OperationRequestSchema, requirePresent(request.operation, "operation")),
  );
  const isNamespace = operation.scope === OperationScope.NAMESPACE;
  const lease = holderOf(request.holder, namespace, isNamespace);
  const { intentId, seenThrough } = request;
  const common = { namespace, intentId, operation, seenThrough, lease };
  const digest = await digestLarge(edge, operation);
  const command = intentCommand({ ...common, digest });
  const target = targetOfIntent(command, lease?.target ?? noRun(namespace));
  if (lease !== undefined) {
    await acknowledge(edge, lease);
  }
  const store = isNamespace ? admitFirst : admit;
  const admitted = await store(edge, target, operation.payload, "operation.payload");
  const recorded = admitted === undefined ? command : { ...command, payload: admitted };
  const order = { target, command: recorded };
  const { value, position } = await executeOne(edge, order, call.caller, answerOf);
  return { answer: value, position };
}

async function digestLarge(
  edge: Edge,
  { payload }: OperationRequestShape,
): Promise<Awaited<ReturnType<Edge["digester"]["digestJson"]>> | undefined> {
  if (!isLarge(payload)) {
    return undefined;
  }
  const document = jsonDocumentOf(payload, "operation.payload");
  return document === undefined ? undefined : await edge.digester.digestJson(document);
}

/** Records how a call ended. */
export async function observeOperation(
  edge: Edge,
  request: ObserveOperationRequest,
  call: CallContext,
): Promise<MessageInitShape<typeof ObserveOperationResponseSchema>> {
  const namespace = readNamespace(request.namespace);
  const { key, intentId, seenThrough } = request;
  requireOperationKey(key, "key");
  requireIntentId(intentId, "intent_id");
  const lease = holderOf(request.holder, namespace, key.startsWith("namespace/"));
  const target = targetOfKey(key, namespace, lease?.target ?? noRun(namespace));
  const observation = decodeObservation(
    toBinary(ObservationSchema, requirePresent(request.observation, "observation")),
  );
  observedOutcome(observation); // What is bad is not stored either.
  const { outcome } = observation;
  const result = outcome.case === "result" ? outcome.value : undefined;
  const admitted = await admit(edge, target, result, "observation.result");
  const command = {
    kind: "ObserveOperation",
    operationKey: key,
    intentId,
    outcome: observedOutcome(observation, admitted),
    seenThrough,
  } as const;
  const { value, position } = await executeOne(
    edge,
    { target, command },
    call.caller,
    ({ reply, run }) => {
      const operation = run.operations[run.operationsByKey.get(key) ?? -1];
      return {
        existing: reply.existing,
        version: operation?.version ?? 0,
        ...(operation === undefined ? {} : { status: operation.status }),
      };
    },
  );
  return { ...value, position };
}

/** Records what a look-up found and says what to do now. */
export async function reconcileOperation(
  edge: Edge,
  request: ReconcileOperationRequest,
  call: CallContext,
): Promise<MessageInitShape<typeof ReconcileOperationResponseSchema>> {
  const namespace = readNamespace(request.namespace);
  const { key, intentId, lookedUpIntentId } = request;
  requireOperationKey(key, "key");
  requireIntentId(intentId, "intent_id");
  requireIntentId(lookedUpIntentId, "looked_up_intent_id");
  const lease = holderOf(request.holder, namespace, key.startsWith("namespace/"));
  const target = targetOfKey(key, namespace, lease?.target ?? noRun(namespace));
  const reconciliation = decodeReconciliation(
    toBinary(ReconciliationSchema, requirePresent(request.reconciliation, "reconciliation")),
  );
  findingOf(reconciliation); // What is bad is not stored either.
  const { finding } = reconciliation;
  const found = finding.case === "found" ? finding.value : undefined;
  const admitted = await admit(edge, target, found, "reconciliation.found");
  const command = {
    kind: "ReconcileOperation",
    lease: lease === undefined ? undefined : { task: lease.task, leaseVersion: lease.leaseVersion },
    operationKey: key,
    intentId,
    lookedUpIntentId,
    finding: findingOf(reconciliation, admitted),
  } as const;
  const order = { target, command };
  const { value, position } = await executeOne(edge, order, call.caller, answerOf);
  return { answer: value, position };
}

function answerOf({ reply, run, runNumber }: Accepted): IntentAnswer {
  if (reply.intent === undefined) {
    throw new TypeError("Expected an answer to the intent, but the decision has none.");
  }
  return fromBinary(
    IntentAnswerSchema,
    encodeIntentAnswer(intentAnswer(run, reply.intent, runNumber)),
  );
}

/** The lease under which something is done; in scope NAMESPACE there is none. */
export function holderOf(
  holder: OperationHolder | undefined,
  namespace: string,
  isNamespace: boolean,
): NamedLease | undefined {
  if (isNamespace) {
    if (holder !== undefined) {
      throw badField("holder", "absent in scope NAMESPACE", "set");
    }
    return undefined;
  }
  return leaseOf(namespace, requirePresent(holder, "holder"), "holder.");
}

/** Stands for the run where scope NAMESPACE has none; it is never used as a target. */
export function noRun(namespace: string): Target {
  return { kind: "run", namespace, runId: "" };
}
