import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import {
  type ItemResult,
  ItemResultSchema,
  type RecordStepsRequest,
  type RecordStepsResponseSchema,
  type StepItem,
  StepItemSchema,
} from "@pawl/proto/v1/worker_service_pb.js";
import {
  decodeStepItem,
  encodeItemResult,
  type StepItemShape,
} from "@pawl/proto/v1/worker_service_wire.js";
import { limits } from "../../core/limits.js";
import type { Rejection } from "../../core/rejection.js";
import type { Outcome } from "../../kernel/outcome.js";
import { admit } from "../admission.js";
import { executeAll, type Order } from "../answers.js";
import type { CallContext } from "../call-scope.js";
import { stepCommand } from "../commands/step.js";
import type { Edge } from "../edge.js";
import { rejectionOf } from "../fault.js";
import { internalFault } from "../refusals.js";
import { mayBeSameStep, reconsiderStep } from "../streams/reconsider-step.js";
import { stepShape } from "../streams/records.js";
import { requireCount } from "../validate/fields.js";
import { rejectionMessage } from "../views/rejection-view.js";
import { acknowledge, leaseOfRequest, type NamedLease } from "./requests.js";

/** Records steps of one task: one result each, in order. */
export async function recordSteps(
  edge: Edge,
  request: RecordStepsRequest,
  call: CallContext,
): Promise<MessageInitShape<typeof RecordStepsResponseSchema>> {
  const lease = leaseOfRequest(request);
  requireCount(request.steps.length, "steps", limits.batchItemsMax);
  const items = request.steps.map((step) => itemOf(step, lease));
  await acknowledge(edge, lease);
  const orders = await Promise.all(
    items.map((item, index) => stepOrder(edge, { item, message: request.steps[index] }, lease)),
  );
  const { value, position } = await executeAll(edge, orders, call.caller, answerOf);
  const results = value.map(async (answer, index) => {
    const item = items[index];
    return item === undefined ? resultOf(answer) : await settle(edge, answer, item, lease);
  });
  return { results: await Promise.all(results), position };
}

function itemOf(step: StepItem, { leaseVersion }: NamedLease): StepItemShape {
  // The request names the lease once for all.
  return { ...decodeStepItem(toBinary(StepItemSchema, step)), leaseVersion };
}

async function stepOrder(
  edge: Edge,
  { item, message }: { readonly item: StepItemShape; readonly message: StepItem | undefined },
  { target, task }: NamedLease,
): Promise<Order | Rejection> {
  try {
    if (message !== undefined) edge.screen.requireClean(message);
    stepCommand(item, task); // What is bad is not stored either.
    const value = item.outcome.case === "value" ? item.outcome.value : undefined;
    const admitted = await admit(edge, target, value, "value");
    return { target, command: stepCommand(item, task, admitted) };
  } catch (error) {
    return rejectionOf(edge, error, "RecordSteps") ?? internalFault();
  }
}

type StepAnswer = { readonly result: ItemResult } | { readonly rejection: Rejection };

function answerOf(outcome: Outcome): StepAnswer {
  if (!outcome.accepted) {
    return { rejection: outcome.rejection };
  }
  const { existing, step } = outcome.reply;
  const shape = { correlation: 0, existing };
  const result = step === undefined ? shape : { ...shape, step: stepShape(step) };
  return { result: fromBinary(ItemResultSchema, encodeItemResult(result)) };
}

function resultOf(answer: StepAnswer): ItemResult {
  return "result" in answer
    ? answer.result
    : create(ItemResultSchema, { rejection: rejectionMessage(answer.rejection) });
}

/** A refused value may be the recorded JSON document, spaced otherwise; then the step exists. */
async function settle(
  edge: Edge,
  answer: StepAnswer,
  item: StepItemShape,
  { target, task }: NamedLease,
): Promise<ItemResult> {
  if ("result" in answer || !mayBeSameStep({ item, rejection: answer.rejection })) {
    const result = resultOf(answer);
    result.correlation = item.correlation;
    return result;
  }
  const { rejection } = answer;
  const settled = await reconsiderStep(edge, { target, task, item, rejection });
  return fromBinary(ItemResultSchema, encodeItemResult(settled));
}
