import { OperationStatus } from "@pawl/proto/v1/operation_pb.js";
import type { EventBody, EventMeta, EventValue } from "../event.js";
import type { MutableOperation, MutableRun } from "../state.js";
import { isLegal, isSettled, operationStatusName, operationTransitions } from "../transitions.js";
import { CorruptHistory } from "./corrupt.js";
import type { ApplyHooks } from "./hooks.js";
import {
  addUnsettled,
  forgetUnsettled,
  indexOperation,
  judgeOrphan,
  moveUnsettled,
} from "./indices.js";
import { keepBytes, keepFailure } from "./keep.js";
import { consumeProposal } from "./proposals.js";

const noFingerprint = new Uint8Array(0);

/** Events about operations. */
type OperationBody = Extract<
  EventBody,
  { case: "operationIntended" | "operationObserved" | "operationDoubted" | "operationReconciled" }
>;

/** Applies an event about an operation. */
export function applyOperationEvent(
  run: MutableRun,
  body: OperationBody,
  meta: EventMeta,
  hooks: ApplyHooks,
): void {
  switch (body.case) {
    case "operationIntended":
      applyOperationIntended(run, body.value, meta, hooks);
      break;
    case "operationObserved":
      applyOperationObserved(run, body.value, meta);
      break;
    case "operationDoubted":
      applyOperationDoubted(run, body.value, meta);
      break;
    case "operationReconciled":
      applyOperationReconciled(run, body.value, meta);
      break;
  }
}

/** The operation of this number. */
export function operationOf(run: MutableRun, number: number): MutableOperation {
  const operation = run.operations[number];
  if (operation === undefined) {
    throw new CorruptHistory(
      `an operation ${number} in run "${run.runId}"`,
      `it has ${run.operations.length}`,
    );
  }
  return operation;
}

/** Moves an operation to another state. */
export function moveOperation(
  run: MutableRun,
  operation: MutableOperation,
  to: OperationStatus,
  { atMs, number }: EventMeta,
): void {
  if (!isLegal(operationTransitions, operation.status, to)) {
    throw new CorruptHistory(
      `a state that may follow ${operationStatusName(operation.status)} for operation ${operation.declaration.key}`,
      `it is ${operationStatusName(to)}`,
    );
  }
  operation.status = to;
  operation.version++;
  if (isSettled(to)) {
    operation.settledAtMs = atMs;
    operation.settledEvent = number;
    operation.callOpen = false;
    operation.failure = to === OperationStatus.OBSERVED ? undefined : operation.failure;
    forgetUnsettled(run, operation);
  }
  judgeOrphan(run, operation);
}

/** An operation was intended. */
function applyOperationIntended(
  run: MutableRun,
  event: EventValue<"operationIntended">,
  meta: EventMeta,
  hooks: ApplyHooks,
): void {
  if (event.declaration !== undefined) {
    declareOperation(run, event, meta);
    consumeProposal(run, event, meta, hooks);
    return;
  }
  const operation = operationOf(run, event.operation);
  operation.earlierDoubt = operation.status === OperationStatus.IN_DOUBT;
  moveOperation(run, operation, OperationStatus.INTENDED, meta);
  operation.intentId = event.intentId;
  moveUnsettled(run, operation, event.task);
  operation.leaseVersion = event.leaseVersion;
  operation.callByMs = event.callByMs;
  operation.intendedAtMs = meta.atMs;
  operation.callOpen = true;
  operation.retryAllowed = false;
  operation.calls++;
  operation.lookUps = 0;
  operation.lookUpAtMs = 0;
}

function declareOperation(
  run: MutableRun,
  event: EventValue<"operationIntended">,
  meta: EventMeta,
): void {
  const { declaration } = event;
  if (declaration === undefined || event.operation !== run.operations.length) {
    throw new CorruptHistory(
      `operation ${run.operations.length} to be declared next`,
      `it is ${event.operation}`,
    );
  }
  if (run.operationsByKey.has(declaration.key)) {
    throw new CorruptHistory(`operation ${declaration.key} to be declared once`, "it was before");
  }
  const operation: MutableOperation = {
    number: event.operation,
    declaration: {
      ...declaration,
      payload: keepBytes(declaration.payload),
      fingerprint: keepBytes(declaration.fingerprint),
    },
    status: OperationStatus.INTENDED,
    version: 1,
    intentId: event.intentId,
    task: event.task,
    leaseVersion: event.leaseVersion,
    callByMs: event.callByMs,
    firstIntendedAtMs: meta.atMs,
    intendedAtMs: meta.atMs,
    callOpen: true,
    earlierDoubt: false,
    calls: 1,
    result: undefined,
    failure: undefined,
    settledAtMs: 0,
    settledIntentId: "",
    settledSeenThrough: undefined,
    settledEvent: 0,
    reconciled: false,
    lookUps: 0,
    lookUpAtMs: 0,
    openReview: undefined,
    proposal: event.consumed?.proposal,
    retryAllowed: false,
    intendedEvent: meta.number,
    carried: false,
    adoptedFingerprint: noFingerprint,
  };
  run.operations.push(operation);
  indexOperation(run, declaration.key, event.operation);
  addUnsettled(run, operation);
}

/** A call ended. */
function applyOperationObserved(
  run: MutableRun,
  event: EventValue<"operationObserved">,
  meta: EventMeta,
): void {
  const operation = operationOf(run, event.operation);
  const { outcome } = event;
  operation.callOpen = false;
  if (outcome.case === "result") {
    operation.result = keepBytes(outcome.value);
    settledByCall(run, operation, event);
  } else if (outcome.case !== undefined) {
    operation.failure = keepFailure(outcome.value);
    if (outcome.case === "refused") {
      settledByCall(run, operation, event);
    }
  }
  moveOperation(run, operation, event.next, meta);
}

function settledByCall(
  { kind }: MutableRun,
  operation: MutableOperation,
  { intentId, late, seenThrough }: EventValue<"operationObserved">,
): void {
  operation.settledIntentId = intentId;
  operation.reconciled = late;
  operation.settledSeenThrough = late || kind === "ledger" ? undefined : seenThrough;
}

/** The outcome of a call became unknown. */
function applyOperationDoubted(
  run: MutableRun,
  event: EventValue<"operationDoubted">,
  meta: EventMeta,
): void {
  const operation = operationOf(run, event.operation);
  moveOperation(run, operation, OperationStatus.IN_DOUBT, meta);
}

/** A look-up told something. */
function applyOperationReconciled(
  run: MutableRun,
  event: EventValue<"operationReconciled">,
  meta: EventMeta,
): void {
  const operation = operationOf(run, event.operation);
  const { finding } = event;
  if (finding.case === "found") {
    operation.result = keepBytes(finding.value);
    operation.reconciled = true;
  } else if (finding.case === "unknown") {
    operation.failure = keepFailure(finding.value);
    operation.lookUps++;
    operation.lookUpAtMs = event.lookUpAtMs;
  } else {
    operation.callOpen = false;
  }
  moveOperation(run, operation, event.next, meta);
}
