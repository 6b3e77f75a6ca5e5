import {
  type Run,
  type RunPause,
  RunStatus,
  RunStatusSchema,
  TaskStatus,
  TaskStatusSchema,
} from "@pawl/proto/v1/run_pb.js";
import { type CodeVersion, VersionMode } from "@pawl/proto/v1/version_pb.js";
import { enumCell, enumWord } from "./enum-word.js";
import { describeFailure } from "./failure.js";
import { principalName } from "./principal.js";
import type { Style } from "./style.js";
import { lookOf } from "./style.js";
import type { Cell } from "./table.js";
import { clean, formatNumber } from "./text.js";
import { type Clock, formatTime } from "./time.js";

/** Whether a run may still change. */
export function isOpen(status: RunStatus): boolean {
  return (
    status === RunStatus.RUNNING || status === RunStatus.PAUSED || status === RunStatus.UNSPECIFIED
  );
}

/** One sentence: which run, and where it stands. */
export function runHeadline(run: Run, style: Style): string {
  const status = enumWord(RunStatusSchema, run.status);
  const again = run.incarnation > 1 ? `, incarnation ${run.incarnation}` : "";
  const asked = run.cancelRequested && isOpen(run.status) ? " and was asked to stop" : "";
  return (
    `Run ${style("bold", clean(run.runId))} of workflow "${clean(run.workflow)}"${again} ` +
    `is ${style(lookOf(status), status)}${asked}.`
  );
}

/** How many tasks are in each state: `3 COMPLETED, 1 LEASED`. */
export function describeTaskCounts(run: Run): string {
  return run.taskCounts
    .map(({ status, count }) => `${formatNumber(count)} ${enumWord(TaskStatusSchema, status)}`)
    .join(", ");
}

/** What else is known of a run, by name. */
export function runFields(run: Run, clock: Clock): (readonly [string, string | undefined])[] {
  const labels = Object.entries(run.labels).map(([key, value]) => `${key}=${value}`);
  return [
    ["why", run.why],
    ["paused", run.pause === undefined ? undefined : describePause(run.pause, clock)],
    ["failure", run.failure === undefined ? undefined : describeFailure(run.failure)],
    ["tasks", describeTaskCounts(run)],
    ["started", formatTime(run.startedAt, clock)],
    ["ended", run.closedAt === undefined ? undefined : formatTime(run.closedAt, clock)],
    ["deadline", run.deadlineAt === undefined ? undefined : formatTime(run.deadlineAt, clock)],
    ["code", run.codeVersion === undefined ? undefined : describeCode(run.codeVersion)],
    ["version", `${run.version} (plan version ${run.planVersion})`],
    ["namespace", run.namespace],
    ["labels", labels.sort().join(", ")],
  ];
}

/** Which version of its workflow's code a run goes by: `version 2, pinned`. */
function describeCode({ version, mode }: CodeVersion): string {
  return mode === VersionMode.FOLLOW ? "follows the current version" : `version ${version}, pinned`;
}

function describePause({ at, reason, principal }: RunPause, clock: Clock): string {
  const by = principal === "" ? "" : ` by ${principalName(principal)}`;
  return `${formatTime(at, clock)}${by}${reason === "" ? "" : `: ${reason}`}`;
}

/** Headings of a list of runs. */
export const RUN_HEADINGS: readonly string[] = [
  "RUN",
  "WORKFLOW",
  "STATUS",
  "TASKS",
  "STARTED",
  "WHY",
];

/** A run as a row of a list. */
export function runRow(run: Run, clock: Clock): Cell[] {
  const all = run.taskCounts.reduce((sum, { count }) => sum + count, 0);
  const done = run.taskCounts.find(({ status }) => status === TaskStatus.COMPLETED)?.count ?? 0;
  return [
    run.runId,
    run.workflow,
    enumCell(RunStatusSchema, run.status),
    `${done}/${all}`,
    formatTime(run.startedAt, clock),
    run.why,
  ];
}
