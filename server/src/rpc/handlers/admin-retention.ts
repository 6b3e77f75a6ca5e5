import type { MessageInitShape } from "@bufbuild/protobuf";
import { durationFromMs, timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { KeepTimesShape } from "@pawl/proto/log/v1/event_wire.js";
import type {
  GetRetentionRequest,
  GetRetentionResponseSchema,
  KeepTimes,
  KeepTimesSchema,
  RetentionSchema,
  SetLegalHoldRequest,
  SetLegalHoldResponseSchema,
  SetRetentionRequest,
  SetRetentionResponseSchema,
} from "@pawl/proto/v1/retention_pb.js";
import { type DurationParts, durationMs, showDuration } from "../../core/duration.js";
import { limits } from "../../core/limits.js";
import type { RetentionEntry } from "../../kernel/retentions.js";
import type { CallContext } from "../call-scope.js";
import type { Edge } from "../edge.js";
import { badField } from "../refusals.js";
import { readNamespace, requireReason } from "../validate/fields.js";
import { legalHoldView } from "../views/legal-hold-view.js";
import { orderRun } from "./run-order.js";

/** Tells how long a namespace keeps what. */
export async function getRetention(
  edge: Edge,
  { namespace }: GetRetentionRequest,
): Promise<MessageInitShape<typeof GetRetentionResponseSchema>> {
  return { retention: retentionView(await edge.kernel.getRetention(readNamespace(namespace))) };
}

/** Sets how long a namespace keeps what. */
export async function setRetention(
  edge: Edge,
  request: SetRetentionRequest,
  call: CallContext,
): Promise<MessageInitShape<typeof SetRetentionResponseSchema>> {
  const namespace = readNamespace(request.namespace);
  const { expectedVersion } = request;
  const keep = readKeepTimes(request.keep);
  const change = { namespace, keep, expectedVersion };
  const { entry, existing, position } = await edge.kernel.changeRetention(change, call.caller);
  return { retention: retentionView(entry), existing, position };
}

/** Begins or ends a legal hold. */
export async function setLegalHold(
  edge: Edge,
  request: SetLegalHoldRequest,
  call: CallContext,
): Promise<MessageInitShape<typeof SetLegalHoldResponseSchema>> {
  const { runId, held, reason, expectedVersion } = request;
  if (runId !== "") {
    return await orderRun(
      { edge, call },
      request,
      (order) => ({ kind: "ChangeLegalHold", ...order, held }),
      () => ({}),
    );
  }
  const namespace = readNamespace(request.namespace);
  requireReason(reason, "reason");
  const change = { namespace, held, reason, expectedVersion };
  const { entry, existing, position } = await edge.kernel.changeRetention(change, call.caller);
  return { version: entry.version, existing, position };
}

function readKeepTimes(keep: KeepTimes | undefined): KeepTimesShape {
  return {
    completedMs: readKeepMs(keep?.completed, "completed"),
    failedMs: readKeepMs(keep?.failed, "failed"),
    cancelledMs: readKeepMs(keep?.cancelled, "cancelled"),
    terminatedMs: readKeepMs(keep?.terminated, "terminated"),
    approvalsMs: readKeepMs(keep?.approvals, "approvals"),
    operationsMs: readKeepMs(keep?.operations, "operations"),
    tombstonesMs: readKeepMs(keep?.tombstones, "tombstones"),
  };
}

/** Absent is for ever: it is not 0, which is at once. */
function readKeepMs(value: DurationParts | undefined, name: string): number | undefined {
  if (value === undefined) {
    return undefined;
  }
  const ms = durationMs(value);
  if (!(ms >= 0 && ms <= limits.keepMsMax)) {
    throw badField(`keep.${name}`, `0 to ${limits.keepMsMax} ms`, showDuration(value));
  }
  return ms;
}

function retentionView(entry: RetentionEntry): MessageInitShape<typeof RetentionSchema> {
  const { namespace, keep, hold, version, principal, changedAtMs } = entry;
  return {
    ...{ namespace, version, keep: keepTimesView(keep), changedBy: principal },
    ...(hold === undefined ? {} : { hold: legalHoldView(hold) }),
    ...(changedAtMs === 0 ? {} : { changedAt: timestampFromMs(changedAtMs) }),
  };
}

function keepTimesView(keep: KeepTimesShape): MessageInitShape<typeof KeepTimesSchema> {
  const { completedMs, failedMs, cancelledMs, terminatedMs } = keep;
  const { approvalsMs, operationsMs, tombstonesMs } = keep;
  return {
    ...(completedMs === undefined ? {} : { completed: durationFromMs(completedMs) }),
    ...(failedMs === undefined ? {} : { failed: durationFromMs(failedMs) }),
    ...(cancelledMs === undefined ? {} : { cancelled: durationFromMs(cancelledMs) }),
    ...(terminatedMs === undefined ? {} : { terminated: durationFromMs(terminatedMs) }),
    ...(approvalsMs === undefined ? {} : { approvals: durationFromMs(approvalsMs) }),
    ...(operationsMs === undefined ? {} : { operations: durationFromMs(operationsMs) }),
    ...(tombstonesMs === undefined ? {} : { tombstones: durationFromMs(tombstonesMs) }),
  };
}
