import { OnExisting } from "@pawl/proto/v1/run_service_pb.js";
import type { StartRunShape } from "@pawl/proto/v1/run_service_wire.js";
import type { StartRun } from "../../core/command.js";
import { computeFingerprint, describeStart } from "../../core/identity/fingerprint.js";
import { limits } from "../../core/limits.js";
import { sha256 } from "../../log/sha256.js";
import { contentOfStart } from "../content.js";
import type { PlanSource } from "../plan-source.js";
import { badField } from "../refusals.js";
import { requireId, requireText } from "../validate/fields.js";
import { readRunTimeout } from "../validate/run-timeout.js";
import { readVersionChoice } from "../validate/version-choice.js";
import { signalParts } from "./signal.js";

/** Longest W3C traceparent, in bytes. */
const traceparentBytesMax = 55;

/**
 * The command of one start, checked; at most two hashes. Paths of fields are relative to the item.
 *
 * @throws RejectionError PAWL_INVALID_FIELD. Checks, in order: run id, workflow, plan, input, labels, traceparent, on existing, request id, run timeout, version choice.
 */
export function startCommand(item: StartRunShape, namespace: string, plans: PlanSource): StartRun {
  const { runId, workflow, input, labels, traceparent, onExisting, requestId, signal } = item;
  requireId("run_id", runId, "run_id");
  requireId("workflow", workflow, "workflow");
  const plan = plans.compile(item.plan, "plan");
  const content = input === undefined ? undefined : contentOfStart(input, "input");
  if (labels.length > 0) {
    requireLabels(labels);
  }
  if (traceparent !== "") {
    requireText(traceparent, "traceparent", { min: 0, max: traceparentBytesMax });
  }
  requireRequestId(onExisting, requestId);
  const runTimeoutMs = readRunTimeout(item.runTimeout);
  const versionChoice = readVersionChoice(item.versionChoice, workflow, plan);
  return {
    kind: "StartRun",
    namespace,
    runId,
    workflow,
    plan,
    input,
    fingerprint: computeFingerprint(describeStart(namespace, workflow, content), sha256),
    labels,
    traceparent,
    onExisting,
    requestId,
    signal: signal === undefined ? undefined : startSignal(signal),
    runTimeoutMs,
    versionChoice,
  };
}

/** A signal beside a start is part of its commit: larger content would have to be stored before there is a run. */
function startSignal(signal: NonNullable<StartRunShape["signal"]>): StartRun["signal"] {
  const { payload } = signal;
  if (payload !== undefined && payload.length > limits.inlineBytesMax) {
    throw badField(
      "signal.payload",
      `at most ${limits.inlineBytesMax} bytes beside a start`,
      `${payload.length} bytes`,
    );
  }
  return signalParts({ ...signal, payload }, "signal.");
}

/** False for a start that attaches to whatever it finds. */
export function hasPolicy({ onExisting }: Pick<StartRun, "onExisting">): boolean {
  return onExisting !== OnExisting.UNSPECIFIED && onExisting !== OnExisting.ATTACH;
}

/** Without an id a start that is sent again could not be told from a second one, and would begin the run twice. */
function requireRequestId(onExisting: OnExisting, requestId: string): void {
  if (onExisting < OnExisting.UNSPECIFIED || onExisting > OnExisting.RESTART_CLOSED) {
    throw badField("on_existing", "a policy of this version", `${onExisting}`);
  }
  if (requestId === "" && onExisting >= OnExisting.REPLACE_OPEN) {
    throw badField("request_id", "set, since on_existing may begin the run once more", "empty");
  }
  if (requestId !== "") {
    requireText(requestId, "request_id", { min: 1, max: limits.idBytesMax });
  }
}

function requireLabels(labels: StartRunShape["labels"]): void {
  if (labels.length > limits.labelsMax) {
    throw badField("labels", `at most ${limits.labelsMax} labels`, `${labels.length}`);
  }
  const keys = new Set<string>();
  for (const [index, label] of labels.entries()) {
    requireText(label.key, `labels[${index}].key`, { min: 1, max: limits.idBytesMax });
    requireText(label.value, `labels[${index}].value`, { min: 0, max: limits.idBytesMax });
    if (keys.has(label.key)) {
      throw badField(`labels[${index}].key`, "unique", `"${label.key}" a second time`);
    }
    keys.add(label.key);
  }
}
