import {
  type Operation,
  OperationScopeSchema,
  OperationStatusSchema,
  SinkKindSchema,
} from "@pawl/proto/v1/operation_pb.js";
import { enumCell, enumWord } from "./enum-word.js";
import { describeFailure } from "./failure.js";
import type { Field } from "./field.js";
import { payloadField } from "./payload.js";
import { lookOf, type Style } from "./style.js";
import type { Cell } from "./table.js";
import { clean } from "./text.js";
import { type Clock, formatTime } from "./time.js";

/** One sentence: which operation, and where it stands. */
export function operationHeadline(operation: Operation, style: Style): string {
  const status = enumWord(OperationStatusSchema, operation.status);
  const learnt = operation.reconciled ? ", settled by a look-up or a person" : "";
  return (
    `Operation ${style("bold", clean(operation.key))} ("${clean(operation.name)}") ` +
    `is ${style(lookOf(status), status)}${learnt}.`
  );
}

/** What else is known of an operation, by name. */
export function operationFields(operation: Operation, clock: Clock): Field[] {
  const { payload, result, failure } = operation;
  return [
    ["run", operation.runId],
    ["task", operation.task],
    ["scope", enumWord(OperationScopeSchema, operation.scope).toLowerCase()],
    ["discriminator", operation.discriminator],
    ["target", operation.target],
    ["sink", enumWord(SinkKindSchema, operation.sinkKind).toLowerCase()],
    ["calls", `${operation.calls}`],
    ["intended", formatTime(operation.intendedAt, clock)],
    [
      "settled",
      operation.settledAt === undefined ? undefined : formatTime(operation.settledAt, clock),
    ],
    ["request", payloadField(payload)],
    ["result", payloadField(result)],
    ["failure", failure === undefined ? undefined : describeFailure(failure)],
    ["review", operation.reviewId],
    ["proposal", operation.proposalId],
    ["trace id", operation.traceparent.split("-")[1]],
    ["fingerprint", Buffer.from(operation.fingerprint).toString("hex")],
    ["UUID", operation.uuid],
    ["version", `${operation.version}`],
  ];
}

/** Headings of a list of operations. */
export const OPERATION_HEADINGS: readonly string[] = [
  "OPERATION",
  "STATUS",
  "SINK",
  "TARGET",
  "CALLS",
  "INTENDED",
  "REVIEW",
];

/** An operation as a row of a list. */
export function operationRow(operation: Operation, clock: Clock): Cell[] {
  return [
    operation.key,
    enumCell(OperationStatusSchema, operation.status),
    enumWord(SinkKindSchema, operation.sinkKind).toLowerCase(),
    operation.target,
    `${operation.calls}`,
    formatTime(operation.intendedAt, clock),
    operation.reviewId,
  ];
}
