import { ParentClose } from "@pawl/proto/v1/obligation_pb.js";
import type { ChildItemShape, ObligationItemShape } from "@pawl/proto/v1/worker_service_wire.js";
import type { MakeObligation, ObligationOrder, TaskRef } from "../../core/command.js";
import { computeFingerprint, describeStart } from "../../core/identity/fingerprint.js";
import { limits } from "../../core/limits.js";
import { sha256 } from "../../log/sha256.js";
import { contentOfStart } from "../content.js";
import { scanPayload } from "../payload-scan.js";
import type { PlanSource } from "../plan-source.js";
import { badField } from "../refusals.js";
import { requireId, requireKnown, requireReason } from "../validate/fields.js";
import { readRunTimeout } from "../validate/run-timeout.js";
import { readVersionChoice } from "../validate/version-choice.js";

/** The command of one obligation, checked. Paths of fields are relative to the item. @throws RejectionError PAWL_INVALID_FIELD */
export function obligationCommand(item: ObligationItemShape, task: TaskRef): MakeObligation {
  const { leaseVersion, name, key, runId, seenThrough } = item;
  requireId("step", name, "name");
  if (key !== undefined) {
    requireId("discriminator", key, "key");
  }
  requireId("run_id", runId, "run_id");
  const order = orderOf(item);
  return { kind: "MakeObligation", task, leaseVersion, name, key, runId, order, seenThrough };
}

function orderOf({ order }: ObligationItemShape): ObligationOrder {
  switch (order.case) {
    case "signal": {
      const { signal, payload } = order.value;
      requireId("step", signal, "signal.signal");
      requireInline(payload, "signal.payload");
      return { case: "signal", signal, payload };
    }
    case "cancel": {
      const { reason } = order.value;
      requireReason(reason, "cancel.reason");
      return { case: "cancel", reason };
    }
    default:
      throw badField("order", "one of signal, cancel", "absent");
  }
}

/** Content that is kept beside a run is kept beside one run only, and the receiver is another. */
function requireInline(payload: Uint8Array | undefined, field: string): void {
  if (payload === undefined) {
    return;
  }
  scanPayload(payload, field);
  if (payload.length > limits.inlineBytesMax) {
    const expected = `at most ${limits.inlineBytesMax} bytes from one run to another`;
    throw badField(field, expected, `${payload.length} bytes`);
  }
}

/**
 * The command that starts a child, checked. Paths of fields are relative to the item.
 * @throws RejectionError PAWL_INVALID_FIELD
 */
export function childCommand(
  item: ChildItemShape,
  task: TaskRef,
  { namespace, plans }: { readonly namespace: string; readonly plans: PlanSource },
): MakeObligation {
  const { leaseVersion, name, key, workflow, input, seenThrough } = item;
  requireId("step", name, "name");
  if (key !== undefined) {
    requireId("discriminator", key, "key");
  }
  requireId("workflow", workflow, "workflow");
  const compiled = plans.compile(item.plan, "plan");
  const { bytes: plan } = compiled;
  requireInline(input, "input");
  requireKnown(item.parentClose, "parent_close", ParentClose);
  const isUnset = item.parentClose === ParentClose.UNSPECIFIED;
  const parentClose = isUnset ? ParentClose.CANCEL : item.parentClose;
  const content = input === undefined ? undefined : contentOfStart(input, "input");
  const start = describeStart(namespace, workflow, content);
  const fingerprint = computeFingerprint(start, sha256);
  const runTimeoutMs = readRunTimeout(item.runTimeout) ?? 0;
  const versionChoice = readVersionChoice(item.versionChoice, workflow, compiled);
  const order: MakeObligation["order"] = {
    ...{ case: "child", workflow, plan, input, fingerprint, parentClose, runTimeoutMs },
    versionChoice,
  };
  return { kind: "MakeObligation", task, leaseVersion, name, key, runId: "", order, seenThrough };
}
