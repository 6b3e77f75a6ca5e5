import type {
  CallItemShape,
  ChildItemShape,
  IntentItemShape,
  ObligationItemShape,
  ObservationItemShape,
  ReconciliationItemShape,
  ReleaseItemShape,
  ReportItemShape,
  StepItemShape,
  SuspendItemShape,
  WaitItemShape,
} from "@pawl/proto/v1/worker_service_wire.js";
import type { Target } from "../../kernel/outcome.js";
import type { Order } from "../answers.js";
import { callCommand } from "../commands/call.js";
import { childCommand, obligationCommand } from "../commands/obligation.js";
import {
  findingOf,
  intentCommand,
  observedOutcome,
  requireOperationKey,
  targetOfIntent,
  targetOfKey,
} from "../commands/operation.js";
import { releaseCommand, reportCommand } from "../commands/report.js";
import { stepCommand } from "../commands/step.js";
import { declareCommand, suspendCommand } from "../commands/suspend.js";
import type { PlanSource } from "../plan-source.js";
import { requireId, requireIntentId } from "../validate/fields.js";
import type { Handle } from "./handles.js";
import type { Prepared } from "./work-preparation.js";

/** An item of a worker, with its kind. */
export type WorkItem =
  | { readonly kind: "step"; readonly item: StepItemShape }
  | { readonly kind: "observation"; readonly item: ObservationItemShape }
  | { readonly kind: "reconciliation"; readonly item: ReconciliationItemShape }
  | { readonly kind: "intent"; readonly item: IntentItemShape }
  | { readonly kind: "call"; readonly item: CallItemShape }
  | { readonly kind: "wait"; readonly item: WaitItemShape }
  | { readonly kind: "obligation"; readonly item: ObligationItemShape }
  | { readonly kind: "child"; readonly item: ChildItemShape }
  | { readonly kind: "report"; readonly item: ReportItemShape }
  | { readonly kind: "suspend"; readonly item: SuspendItemShape }
  | { readonly kind: "release"; readonly item: ReleaseItemShape };

/** What an item is turned into an order with. */
export interface OrderParts {
  readonly namespace: string;
  /** The lease; undefined only for an observation whose lease is gone. */
  readonly entry: Handle | undefined;
  readonly prepared: Prepared | undefined;
  readonly plans: PlanSource;
}

/**
 * The order of one item, checked.
 *
 * @throws RejectionError PAWL_INVALID_FIELD; paths of fields are relative to the item.
 */
export function orderOf(work: WorkItem, parts: OrderParts): Order {
  return work.kind === "observation"
    ? observationOrder(work.item, parts)
    : leaseOrder(work, parts, requireEntry(parts));
}

function leaseOrder(
  work: Exclude<WorkItem, { kind: "observation" }>,
  { namespace, prepared, plans }: OrderParts,
  { target, task }: Handle,
): Order {
  switch (work.kind) {
    case "step":
      return { target, command: stepCommand(work.item, task, prepared?.admitted) };
    case "obligation":
      return { target, command: obligationCommand(work.item, task) };
    case "child":
      return { target, command: childCommand(work.item, task, { namespace, plans }) };
    case "report":
      return { target, command: reportCommand(work.item, task, prepared?.admitted) };
    case "call":
      return { target, command: callCommand(work.item, task, prepared?.inputs) };
    case "wait":
      return { target, command: declareCommand(work.item, task) };
    case "suspend":
      return { target, command: suspendCommand(work.item, task) };
    case "release":
      return { target, command: releaseCommand(work.item, task) };
    case "intent": {
      const { intentId, operation, seenThrough, leaseVersion } = work.item;
      const command = intentCommand({
        namespace,
        intentId,
        operation,
        seenThrough,
        lease: { task, leaseVersion },
        keepsLease: work.item.keepsLease,
        digest: prepared?.digest,
        admitted: prepared?.admitted,
      });
      return { target: targetOfIntent(command, target), command };
    }
    case "reconciliation": {
      const { key, intentId, lookedUpIntentId, leaseVersion, reconciliation } = work.item;
      requireOperationKey(key, "key");
      requireIntentId(intentId, "intent_id");
      requireIntentId(lookedUpIntentId, "looked_up_intent_id");
      const holder = targetOfKey(key, namespace, target);
      return {
        target: holder,
        command: {
          kind: "ReconcileOperation",
          // An operation of scope NAMESPACE belongs to no task: the caller's key is its identity.
          lease: holder.kind === "ledger" ? undefined : { task, leaseVersion },
          operationKey: key,
          intentId,
          lookedUpIntentId,
          finding: findingOf(reconciliation, prepared?.admitted),
          keepsLease: work.item.keepsLease,
        },
      };
    }
  }
}

function observationOrder(item: ObservationItemShape, parts: OrderParts): Order {
  const { key, intentId, observation, seenThrough } = item;
  requireOperationKey(key, "key");
  requireIntentId(intentId, "intent_id");
  return {
    target: targetOfKey(key, parts.namespace, observedRun(item, parts)),
    command: {
      kind: "ObserveOperation",
      operationKey: key,
      intentId,
      outcome: observedOutcome(observation, parts.prepared?.admitted),
      seenThrough,
    },
  };
}

/** The run of an observation: that of its lease, or the one it names. */
function observedRun(
  { runId, key }: ObservationItemShape,
  { namespace, entry }: OrderParts,
): Target {
  if (entry !== undefined) {
    return entry.target;
  }
  if (!key.startsWith("namespace/")) {
    requireId("run_id", runId, "run_id");
  }
  return { kind: "run", namespace, runId };
}

function requireEntry({ entry }: OrderParts): Handle {
  if (entry === undefined) {
    throw new TypeError("Expected an item of a lease to have one, but it has none.");
  }
  return entry;
}
