import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { type Payload, PayloadSchema } from "@pawl/proto/v1/payload_pb.js";
import { decodePayload } from "@pawl/proto/v1/payload_wire.js";
import {
  type GetRecordsRequest,
  type GetRecordsResponseSchema,
  type ItemResult,
  ItemResultSchema,
  RecordedNameSchema,
  type RecordStepsRequest,
  type RecordStepsResponseSchema,
  type StepItem,
  StepItemSchema,
  type StepRecord,
  StepRecordSchema,
  WaitOutcomeSchema,
} from "@pawl/proto/v1/worker_service_pb.js";
import {
  decodeStepItem,
  encodeItemResult,
  encodeRecordedName,
  encodeStepRecord,
  encodeWaitOutcome,
  type StepItemShape,
  type StepRecordShape,
} from "@pawl/proto/v1/worker_service_wire.js";
import { holds, leaseLost } from "../../core/lease-standing.js";
import { limits } from "../../core/limits.js";
import { taskNumber } from "../../core/plan/tasks-of-run.js";
import { notFound, type Rejection } from "../../core/rejection.js";
import type { Run } from "../../core/state.js";
import { type Outcome, RejectionError } from "../../kernel/outcome.js";
import { admit } from "../admission.js";
import { executeAll, type Order } from "../answers.js";
import type { CallContext } from "../call-scope.js";
import { stepCommand } from "../commands/step.js";
import type { Edge } from "../edge.js";
import { rejectionOf } from "../fault.js";
import { internalFault } from "../refusals.js";
import { mayBeSameStep, reconsiderStep } from "../streams/reconsider-step.js";
import { recordedNames } from "../streams/recorded-names.js";
import { recordPage, stepShape } from "../streams/records.js";
import { requireCount } from "../validate/fields.js";
import { payloadOf } from "../views/payload-view.js";
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
  const orders = await Promise.all(items.map((item) => stepOrder(edge, item, lease)));
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
  item: StepItemShape,
  { target, task }: NamedLease,
): Promise<Order | Rejection> {
  try {
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

/** Streams the recorded steps of a leased task and the outcomes of its waits, in order. */
export async function* getRecords(
  edge: Edge,
  request: GetRecordsRequest,
): AsyncIterable<MessageInitShape<typeof GetRecordsResponseSchema>> {
  const lease = leaseOfRequest(request);
  let after = request.afterNumber;
  for (;;) {
    const from = after;
    const { page, recorded } = await edge.kernel.view(lease.target, (run, runNumber) => {
      const number = requireLease(run, lease);
      const named = from === 0 ? recordedNames(run, run.tasks[number]?.rollsBack ?? number) : [];
      return { page: recordPage(run, number, from, runNumber), recorded: named };
    });
    if (page.last === 0 && recorded.length === 0) {
      return;
    }
    yield {
      recorded: recorded.map((name) => fromBinary(RecordedNameSchema, encodeRecordedName(name))),
      steps: page.steps.map(stepMessage),
      outcomes: page.outcomes.map((outcome) =>
        fromBinary(WaitOutcomeSchema, encodeWaitOutcome(outcome)),
      ),
    };
    if (!page.hasMore) {
      return;
    }
    after = page.last;
  }
}

/** What `stepMessage` takes over; the compiler refuses the list when the contract gains a field that is not in it. */
const taken = {
  ...{ name: true, key: true, value: true, failure: true, observedAtMs: true },
  ...{ seenThrough: true, number: true, rollback: true, publishes: true },
} satisfies Record<keyof StepRecordShape, true>;

/** The message of a record: there may be tens of thousands, so it is not encoded and read again. */
function stepMessage(record: Pick<StepRecordShape, keyof typeof taken>): StepRecord {
  const { name, key, value, failure, observedAtMs, seenThrough, number, rollback, publishes } =
    record;
  if (value === undefined || failure !== undefined || rollback !== undefined) {
    return fromBinary(StepRecordSchema, encodeStepRecord(record));
  }
  return {
    $typeName: StepRecordSchema.typeName,
    ...{ name, value: payloadMessage(value), observedAtMs, seenThrough, number },
    ...(key === undefined ? {} : { key }),
    ...(publishes === undefined ? {} : { publishes }),
  };
}

/** Only content at hand, without a digest, holds no other message. */
function payloadMessage(bytes: Uint8Array): Payload {
  const { contentType, encoding, digest, body } = decodePayload(bytes);
  return digest === undefined && body.case === "data"
    ? { $typeName: PayloadSchema.typeName, contentType, encoding, body }
    : payloadOf(bytes);
}

function requireLease(run: Run, { task: name, leaseVersion }: NamedLease): number {
  const number = taskNumber(run, name);
  const task = number === undefined ? undefined : run.tasks[number];
  if (task === undefined) {
    throw new RejectionError(notFound("task", name));
  }
  if (!holds(task, leaseVersion)) {
    throw new RejectionError(leaseLost(task, leaseVersion));
  }
  return task.number;
}
