import { create } from "@bufbuild/protobuf";
import type { IntentAnswer } from "@pawl/proto/v1/operation_pb.js";
import { LeaseLostSchema, type Rejection, RejectionSchema } from "@pawl/proto/v1/rejection_pb.js";
import type {
  CallItem,
  ChildItem,
  IntentItem,
  ObligationAnswer,
  ObligationItem,
  ObservationItem,
  ReconciliationItem,
  ReleaseItem,
  ReportItem,
  StepItem,
  StepRecord,
  SuspendItem,
  WaitItem,
  WorkRequest,
} from "@pawl/proto/v1/worker_service_pb.js";
import type { Lease } from "./lease.js";
import type { Sized } from "./send-queue.js";

/** What a worker sends that the kernel answers. */
export type ItemBody =
  | { readonly kind: "step"; readonly message: StepItem }
  | { readonly kind: "intent"; readonly message: IntentItem }
  | { readonly kind: "observation"; readonly message: ObservationItem }
  | { readonly kind: "reconciliation"; readonly message: ReconciliationItem }
  | { readonly kind: "obligation"; readonly message: ObligationItem }
  | { readonly kind: "child"; readonly message: ChildItem }
  | { readonly kind: "call"; readonly message: CallItem }
  | { readonly kind: "wait"; readonly message: WaitItem }
  | { readonly kind: "report"; readonly message: ReportItem }
  | { readonly kind: "suspend"; readonly message: SuspendItem }
  | { readonly kind: "release"; readonly message: ReleaseItem };

/** The kernel's answer to one item. */
export interface ItemAnswer {
  readonly existing: boolean;
  /** Why it was refused. Undefined when it was accepted. */
  readonly rejection: Rejection | undefined;
  readonly intent: IntentAnswer | undefined;
  readonly step: StepRecord | undefined;
  readonly obligation?: ObligationAnswer | undefined;
  /** When the item was sent last, by the monotonic clock. */
  readonly sentAtMs: number;
}

/** An item until it is answered. */
export interface WorkItem extends Sized {
  readonly correlation: number;
  readonly lease: Lease;
  readonly body: ItemBody;
  sentAtMs: number;
  readonly settle: (answer: ItemAnswer) => void;
}

/** Puts an item where it belongs in a message. The kernel handles the fields in the order that the proto states. */
export function putItem(request: WorkRequest, body: ItemBody): void {
  switch (body.kind) {
    case "step":
      request.steps.push(body.message);
      return;
    case "intent":
      request.intents.push(body.message);
      return;
    case "observation":
      request.observations.push(body.message);
      return;
    case "reconciliation":
      request.reconciliations.push(body.message);
      return;
    case "obligation":
      request.obligations.push(body.message);
      return;
    case "child":
      request.children.push(body.message);
      return;
    case "call":
      request.calls.push(body.message);
      return;
    case "wait":
      request.waits.push(body.message);
      return;
    case "report":
      request.reports.push(body.message);
      return;
    case "suspend":
      request.suspends.push(body.message);
      return;
    case "release":
      request.releases.push(body.message);
      return;
  }
}

/** The refusal that an item of a lost lease would get, without asking. */
export function lostLeaseAnswer(lease: Lease): ItemAnswer {
  const rejection = create(RejectionSchema, {
    reason: "PAWL_LEASE_LOST",
    message: `Expected lease version ${lease.leaseVersion} to hold the task, but it does not any more. Stop the attempt.`,
    detail: { case: "leaseLost", value: create(LeaseLostSchema, { held: lease.leaseVersion }) },
  });
  return refusedWith(rejection);
}

/** The answer to an item that is refused without asking. */
export function refusedWith(rejection: Rejection): ItemAnswer {
  return { existing: false, rejection, intent: undefined, step: undefined, sentAtMs: 0 };
}
