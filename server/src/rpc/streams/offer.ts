import type { FailureShape } from "@pawl/proto/v1/failure_wire.js";
import type { CodeVersionShape } from "@pawl/proto/v1/version_wire.js";
import type { OfferShape } from "@pawl/proto/v1/worker_service_wire.js";
import { inputNeeds } from "../../core/joins.js";
import { specOf } from "../../core/plan/change-spec.js";
import { attemptKind } from "../../core/plan/code-version.js";
import { planVersionOf } from "../../core/plan/plan-versions.js";
import type { TaskSpec } from "../../core/plan/task-spec.js";
import { nameOfTask } from "../../core/plan/tasks-of-run.js";
import type { Run, Task } from "../../core/state.js";
import type { SessionLease } from "../../kernel/kernel-api.js";
import { shapeOfFailure } from "../views/result-view.js";
import { dependencyOutputs } from "./dependency-outputs.js";
import { recordedNames } from "./recorded-names.js";
import { noRecords, type RecordPage, recordPage, warmPage } from "./records.js";

/** Bytes of the names of open calls in an offer, at least roughly. */
const openCallsBytesMax = 524_288;

type OfferedLease = Pick<SessionLease, "handle" | "runNumber" | "task" | "warmThrough">;

/** `pawl.v1.Offer` of a leased task, read from the state right after its claim. All content goes out as it was received. */
export function offerShape(
  { handle, runNumber, task: number, warmThrough }: OfferedLease,
  run: Run,
): OfferShape | undefined {
  const task = run.tasks[number];
  const spec = specOf(run, number);
  if (task === undefined || spec === undefined) {
    return undefined;
  }
  // What rolls back runs the code of what ended, over its records.
  const undone = task.rollsBack === undefined ? undefined : run.tasks[task.rollsBack];
  const whose = undone ?? task;
  const code = undone === undefined ? spec : (specOf(run, undone.number) ?? spec);
  const isWarm = warmThrough !== undefined;
  const isCold = !isWarm && (task.leaseVersion !== 1 || undone !== undefined);
  const records = recordsFor(run, { number, runNumber, warmThrough, isCold });
  return {
    handle,
    runId: run.runId,
    task: spec.name,
    kind: attemptKind(run, task, spec),
    attempt: task.attempt,
    leaseVersion: task.leaseVersion,
    leaseMs: spec.leaseMs,
    attemptMs: attemptMs(task, spec),
    input: inputOf(run, whose, code),
    dependencies:
      code.needs.length === 0 ? [] : dependencyOutputs(run, inputNeeds(run, whose, code)),
    steps: records.steps,
    outcomes: records.outcomes,
    moreSteps: records.hasMore,
    seenThrough: run.eventCount,
    traceparent: run.traceparent,
    lastProgress: task.progress,
    workflow: run.workflow,
    incarnation: run.incarnation,
    planVersion: planVersionOf(run, number),
    rollingBack: undone && { task: code.name, failure: failureShape(undone.failure) },
    recorded: isCold ? recordedNames(run, whose.number) : [],
    openCalls: task.calls === undefined || isWarm ? [] : openCalls(run, task.calls),
    warm: isWarm,
    codeVersion: run.codeVersion && offeredVersion(run.codeVersion, task),
  };
}

/** What follows has the version under which it was taken. */
function offeredVersion(ofRun: CodeVersionShape, { codeVersion }: Task): CodeVersionShape {
  return codeVersion === 0 ? ofRun : { version: codeVersion, mode: ofRun.mode };
}

/** What a worker must be told of what is recorded: a new task has no records, and a warm one only new ones. */
function recordsFor(
  run: Run,
  {
    number,
    runNumber,
    warmThrough,
    isCold,
  }: {
    readonly number: number;
    readonly runNumber: number;
    readonly warmThrough: number | undefined;
    readonly isCold: boolean;
  },
): RecordPage {
  if (warmThrough !== undefined) {
    return warmPage(run, number, warmThrough, runNumber);
  }
  return isCold ? recordPage(run, number, 0, runNumber) : noRecords;
}

/** A called task has its own input or none; a function that continued as new has what it continued with. */
function inputOf(run: Run, { caller }: Task, { input }: TaskSpec): Uint8Array | undefined {
  if (run.continued !== undefined && caller === undefined) {
    return run.input;
  }
  return input ?? (caller === undefined ? run.input : undefined);
}

function failureShape(failure: Task["failure"]): FailureShape | undefined {
  return failure === undefined ? undefined : shapeOfFailure(failure);
}

/** As many as fit: with all of them an offer could be larger than a message, and what is called again is answered as known. */
function openCalls(run: Run, { open }: NonNullable<Task["calls"]>): string[] {
  const names: string[] = [];
  let bytes = 0;
  for (const number of open) {
    const name = nameOfTask(run, number);
    bytes += 3 * name.length; // At most so many in UTF-8.
    if (bytes > openCallsBytesMax) {
      break;
    }
    names.push(name);
  }
  return names;
}

/** What is left of the attempt's time, in ms; 0 when nothing bounds it. */
function attemptMs(task: Task, spec: TaskSpec): number {
  const { startToCloseMs, scheduleToCloseMs } = spec;
  const untilClose =
    scheduleToCloseMs === undefined
      ? undefined
      : Math.max(1, task.firstReadyAtMs + scheduleToCloseMs - task.leasedAtMs);
  if (startToCloseMs === undefined) {
    return untilClose ?? 0;
  }
  // A length of zero is due at once, while 0 on the wire means no limit.
  return Math.max(1, Math.min(startToCloseMs, untilClose ?? startToCloseMs));
}
