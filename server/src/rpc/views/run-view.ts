import type { MessageInitShape } from "@bufbuild/protobuf";
import { durationFromMs, timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  type RunPauseSchema,
  type RunSchema,
  RunStatus,
  TaskStatus,
} from "@pawl/proto/v1/run_pb.js";
import { presentPlanVersion, supersededIn } from "../../core/plan/plan-versions.js";
import type { Run, RunPause } from "../../core/state.js";
import { codeVersionOf } from "../../core/view/code-version.js";
import { explainRun, type Standpoint } from "../../core/view/why.js";
import { legalHoldView } from "./legal-hold-view.js";
import { failureView, timestampView } from "./payload-view.js";

/** `pawl.v1.Run` of a run's state. */
export function runView(run: Run, from: Standpoint): MessageInitShape<typeof RunSchema> {
  const startedAt = timestampView(run.startedAtMs);
  const closedAt = timestampView(run.closedAtMs);
  const codeVersion = codeVersionOf(run);
  return {
    namespace: run.namespace,
    runId: run.runId,
    incarnation: run.incarnation,
    workflow: run.workflow,
    status: run.status,
    version: run.version,
    planVersion: presentPlanVersion(run),
    generation: run.generation,
    cancelRequested: run.cancelRequestedAtMs !== 0,
    taskCounts: countTasks(run),
    why: explainRun(run, from),
    labels: Object.fromEntries(run.labels.map(({ key, value }) => [key, value])),
    fingerprint: run.fingerprint,
    ...(codeVersion === undefined ? {} : { codeVersion }),
    ...deadlineView(run),
    ...(run.pause === undefined ? {} : { pause: pauseView(run.pause) }),
    ...(run.legalHold === undefined ? {} : { legalHold: legalHoldView(run.legalHold) }),
    ...(startedAt === undefined ? {} : { startedAt }),
    ...(closedAt === undefined ? {} : { closedAt }),
    ...(run.failure === undefined || run.status !== RunStatus.FAILED
      ? {}
      : { failure: failureView(run.failure) }),
  };
}

/** When the run is ended if it is still open, and how long it may take. */
function deadlineView({
  deadline,
}: Pick<Run, "deadline">): Pick<MessageInitShape<typeof RunSchema>, "deadlineAt" | "runTimeout"> {
  if (deadline === undefined) {
    return {};
  }
  const { atMs, timeoutMs } = deadline;
  const runTimeout = timeoutMs === 0 ? {} : { runTimeout: durationFromMs(timeoutMs) };
  return { deadlineAt: timestampFromMs(atMs), ...runTimeout };
}

function pauseView({ atMs, reason, principal }: RunPause): MessageInitShape<typeof RunPauseSchema> {
  return { at: timestampFromMs(atMs), reason, principal };
}

function countTasks(run: Run): { status: TaskStatus; count: number }[] {
  const counts = new Map<TaskStatus, number>();
  for (const { status: own, number, dropped } of run.tasks) {
    if (dropped !== 0) {
      continue; // It is no longer of the run.
    }
    const status = supersededIn(run, number) === 0 ? own : TaskStatus.SUPERSEDED;
    counts.set(status, (counts.get(status) ?? 0) + 1);
  }
  return Object.values(TaskStatus).flatMap((status) => {
    const count = counts.get(status) ?? 0;
    return count === 0 ? [] : [{ status, count }];
  });
}
