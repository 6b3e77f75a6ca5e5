import { LeaseEndReason } from "@pawl/proto/log/v1/event_pb.js";
import type { ReportItemShape } from "@pawl/proto/v1/worker_service_wire.js";
import type {
  CompleteTask,
  ConfirmCancel,
  ContinueRun,
  EndLease,
  FailTask,
  TaskRef,
} from "../../core/command.js";
import { limits } from "../../core/limits.js";
import { scanPayload } from "../payload-scan.js";
import { badField } from "../refusals.js";
import { requireFailure } from "../validate/failure.js";
import { requireCount, requireNumber, requireReason, requireText } from "../validate/fields.js";

/** The content that a report brings. */
export function contentOfReport({
  outcome,
}: Pick<ReportItemShape, "outcome">): Uint8Array | undefined {
  switch (outcome.case) {
    case "output":
      return outcome.value;
    case "continueAsNew":
      return outcome.value.input;
    default:
      return undefined;
  }
}

/** Where that lies in the item. */
export function pathOfContent({ outcome }: Pick<ReportItemShape, "outcome">): string {
  return outcome.case === "continueAsNew" ? "continue_as_new.input" : "output";
}

/**
 * The command of one report, checked. Paths of fields are relative to the item.
 *
 * @param content Its content as it is to be recorded: that of the item, or a reference to it when it is above the inline bound.
 * @throws RejectionError PAWL_INVALID_FIELD.
 */
export function reportCommand(
  item: ReportItemShape,
  task: TaskRef,
  content: Uint8Array | undefined = undefined,
): CompleteTask | ContinueRun | FailTask | ConfirmCancel {
  const { leaseVersion, outcome, retryAfterMs } = item;
  if (retryAfterMs !== undefined) {
    requireNumber(retryAfterMs, "retry_after_ms", { min: 0, max: limits.backoffMsMax });
  }
  switch (outcome.case) {
    case "output":
      if (content === undefined) {
        scanPayload(outcome.value, "output");
      }
      return completion(item, task, content ?? outcome.value);
    case "continueAsNew": {
      const { input, seenThrough } = outcome.value;
      if (content === undefined && input !== undefined) {
        scanPayload(input, "continue_as_new.input");
      }
      return { kind: "ContinueRun", task, leaseVersion, input: content ?? input, seenThrough };
    }
    case "noOutput":
      return completion(item, task, undefined);
    case "failure":
      requireFailure(outcome.value, "failure");
      return {
        kind: "FailTask",
        task,
        leaseVersion,
        failure: outcome.value,
        retryAfterMs,
        progress: undefined,
        ...(item.forReview ? { forReview: true } : {}),
      };
    case "cancelled":
      requireFailure(outcome.value, "cancelled");
      return { kind: "ConfirmCancel", task, leaseVersion, failure: outcome.value };
    default:
      throw badField(
        "outcome",
        "one of output, failure, no_output, cancelled, continue_as_new",
        "absent",
      );
  }
}

/** Most names of what was not reached, and of how many bytes. */
const unvisitedMax = 100;
const unvisitedBytesMax = 500;

function completion(
  { leaseVersion, unvisited }: ReportItemShape,
  task: TaskRef,
  output: Uint8Array | undefined,
): CompleteTask {
  const command = { kind: "CompleteTask", task, leaseVersion, output } as const;
  if (unvisited.length === 0) {
    return command;
  }
  requireCount(unvisited.length, "unvisited", unvisitedMax);
  for (const [index, name] of unvisited.entries()) {
    requireText(name, `unvisited[${index}]`, { min: 1, max: unvisitedBytesMax });
  }
  return { ...command, unvisited };
}

/** What a task is given back with. */
export interface ReleaseParts {
  readonly leaseVersion: number;
  /** Not to be offered before, in ms from now. */
  readonly delayMs: number;
  readonly reason: string;
}

/** The command that gives a task back, checked. */
export function releaseCommand(parts: ReleaseParts, task: TaskRef): EndLease {
  const { leaseVersion, delayMs, reason } = parts;
  requireNumber(delayMs, "delay_ms", { min: 0, max: limits.backoffMsMax });
  requireReason(reason, "reason");
  return {
    kind: "EndLease",
    task,
    leaseVersion,
    reason: LeaseEndReason.RETURNED,
    delayMs,
    note: reason,
    progress: undefined,
  };
}
