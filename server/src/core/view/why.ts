import { LeaseEndReason } from "@pawl/proto/log/v1/event_pb.js";
import { ReviewSubject } from "@pawl/proto/v1/review_pb.js";
import { RunStatus, TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { awaitedReview } from "../awaited-review.js";
import { decisiveFailures } from "../joins.js";
import { mustStop } from "../lease-standing.js";
import { specOf } from "../plan/change-spec.js";
import { followsCurrent, kindAt, queuedKind } from "../plan/code-version.js";
import { nameOfTask, plannedSpec } from "../plan/tasks-of-run.js";
import type { Review, Run, RunPause, Task } from "../state.js";
import { isRunOpen } from "../transitions.js";
import { explainDeadline, explainTimedOut } from "./explain-deadline.js";
import { completedOver, explainNeeds } from "./explain-needs.js";
import { explainOperationReview } from "./explain-review.js";
import { explainWaits } from "./explain-waits.js";
import { formatCount, formatLength } from "./format-length.js";

/** What a sentence needs of a failure. */
interface FailureWords {
  readonly kind: string;
  readonly message: string;
}

/** Whether any worker that serves a kind in a queue of a namespace is connected. Memory only, so the state does not know it. */
export type IsServed = (namespace: string, queue: string, kind: string) => boolean;

/** From when and where a state is looked at. */
export interface Standpoint {
  readonly nowMs: number;
  /** Number of the run in the store, for commands that name a proposal of it. Default 0: they are left out. */
  readonly runNumber?: number;
  /** Default: there is a worker for everything, and all of them are busy. */
  readonly isServed?: IsServed;
  /** The version of a workflow that is current; 0: none is. Default: nothing is known of it. */
  readonly currentVersion?: (namespace: string, workflow: string) => number;
}

/** Longest text of others that is quoted in a sentence, in UTF-16 code units. */
const quotedMax = 300;

/**
 * One sentence: why a run is not finished, or how it ended. It says what is, why, and what comes next, and everything in it
 * follows from the state.
 */
export function explainRun(run: Run, from: Standpoint): string {
  switch (run.status) {
    case RunStatus.COMPLETED:
      return `It completed after ${formatLength(run.closedAtMs - run.startedAtMs)}: ${completedTasks(run)}.`;
    case RunStatus.FAILED:
      return run.timedOut ? explainTimedOut(run) : explainFailure(run);
    case RunStatus.CANCELLED:
      return `It was cancelled${reasonOf(run.cancelReason)}, and what was running has ended.`;
    case RunStatus.TERMINATED:
      return `It was terminated at once${reasonOf(run.failure?.message ?? "")}.`;
    default:
      return `${explainOpenRun(run, from)}${explainDeadline(run, from.nowMs)}`;
  }
}

/** What a task waits for, as a sentence. Empty when it waits for nothing: it has ended, or a worker is at it. */
export function explainWait(run: Run, number: number, from: Standpoint): string {
  const task = run.tasks[number];
  if (task === undefined || !isRunOpen(run.status)) {
    return "";
  }
  switch (task.status) {
    case TaskStatus.BLOCKED:
    case TaskStatus.READY:
    case TaskStatus.BACKOFF:
    case TaskStatus.SUSPENDED:
    case TaskStatus.NEEDS_REVIEW:
      return `${explainTask(run, task, from)}.`;
    default:
      return "";
  }
}

/** A failure in a few words, cut visibly. */
export function describeFailure(failure: FailureWords): string {
  const text = failure.message === "" ? failure.kind : `${failure.kind}: ${failure.message}`;
  const trimmed = text.replace(/[.\s]+$/, "");
  return trimmed.length <= quotedMax ? trimmed : `${cut(trimmed)}…`;
}

/** Never cuts a surrogate pair in half. */
function cut(text: string): string {
  return text.slice(0, quotedMax).replace(/[\ud800-\udbff]$/, "");
}

function completedTasks(run: Run): string {
  const { length } = run.tasks;
  if (run.failedTasks > 0) {
    return completedOver(run);
  }
  return length === 1 ? "its task did its work" : `all ${length} tasks did their work`;
}

function explainFailure(run: Run): string {
  const failed = run.tasks.filter((task) => task.status === TaskStatus.FAILED);
  const skipped = run.tasks.filter((task) => task.status === TaskStatus.SKIPPED).length;
  const [first] = run.plan.ranks === undefined ? failed : decisiveFailures(run);
  if (first === undefined) {
    return `It failed${run.failure === undefined ? "" : ` with ${describeFailure(run.failure)}`}.`;
  }
  const others =
    failed.length > 1 ? ` ${formatCount(failed.length - 1, "other task")} failed as well.` : "";
  const never = skipped > 0 ? ` ${formatCount(skipped, "task")} that needed it never ran.` : "";
  return `Task "${nameOf(run, first)}" failed for good ${explainEnd(first)}.${others}${never}`;
}

/** One that nobody took in time has failed without an attempt. */
function explainEnd({ usedAttempts, failure }: Task): string {
  const words = failure === undefined ? "" : describeFailure(failure);
  return usedAttempts === 0
    ? `before any attempt ended${words === "" ? "" : `: ${words}`}`
    : `after ${formatCount(usedAttempts, "attempt")}${words === "" ? "" : `, the last one with ${words}`}`;
}

function reasonOf(reason: string): string {
  return reason === "" ? "" : ` ("${cut(reason)}")`;
}

/** Which open task the sentence of a run is about: what needs a person first, then what has gone wrong, then what runs. */
const telling: readonly TaskStatus[] = [
  TaskStatus.NEEDS_REVIEW,
  TaskStatus.BACKOFF,
  TaskStatus.LEASED,
  TaskStatus.READY,
  TaskStatus.SUSPENDED,
  TaskStatus.BLOCKED,
];

function explainOpenRun(run: Run, from: Standpoint): string {
  if (run.fault !== "") {
    return `It is set aside for a person, because the kernel's own code failed for it (${cut(run.fault)}): resolve its review, or terminate it.`;
  }
  if (run.pause !== undefined) {
    return explainPause(run, run.pause, from.nowMs);
  }
  const task = taskToTell(run);
  if (task === undefined) {
    return "It is about to end.";
  }
  const sentence = explainTask(run, task, from);
  const more =
    run.openTasks > 1
      ? `; ${formatCount(run.openTasks - 1, "more task")} ${run.openTasks === 2 ? "is" : "are"} open`
      : "";
  const cancelled =
    run.cancelRequestedAtMs === 0
      ? ""
      : run.timedOut
        ? `It is being stopped. ${run.cancelReason} `
        : `Cancellation was requested${reasonOf(run.cancelReason)}. `;
  return `${cancelled}${sentence}${more}.`;
}

function taskToTell(run: Run): Task | undefined {
  const needsPerson = (task: Task): boolean =>
    task.status === TaskStatus.NEEDS_REVIEW || awaitedReview(run, task) !== undefined;
  const status = telling.find((each) => run.tasks.some((open) => open.status === each));
  return run.tasks.find(needsPerson) ?? run.tasks.find((each) => each.status === status);
}

function explainPause(run: Run, pause: RunPause, nowMs: number): string {
  const running = run.tasks.filter(({ status }) => status === TaskStatus.LEASED).length;
  const by = pause.principal === "" ? "" : ` by ${pause.principal}`;
  const still =
    running === 0
      ? ""
      : `; ${formatCount(running, "task")} that ran before may still report, and ${running === 1 ? "begins" : "begin"} no effect`;
  return `It was paused${by} ${formatLength(nowMs - pause.atMs)} ago${reasonOf(pause.reason)}, so nothing of it is offered until it is resumed${still}.`;
}

/** A sentence about an open task, without its full stop. */
function explainTask(run: Run, task: Task, from: Standpoint): string {
  const { nowMs, runNumber = 0 } = from;
  if (run.pause !== undefined && waitsForResume.has(task.status)) {
    return `Task "${nameOf(run, task)}" waits until its run is resumed`;
  }
  const spec = specOf(run, task.number);
  const name = `Task "${nameOf(run, task)}"`;
  const attemptsMax = (spec?.retry.attemptsMax ?? 0) + (task.trouble?.forgivenAttempts ?? 0);
  const next = `attempt ${task.usedAttempts + 1} of ${attemptsMax}`;
  switch (task.status) {
    case TaskStatus.NEEDS_REVIEW:
      return `${name}${undoing(run, task)} waits for a person: ${explainReview(run, task)}`;
    case TaskStatus.BACKOFF:
      return `${name}${undoing(run, task)} waits ${formatLength(task.dueAtMs - nowMs)} for ${next}: ${explainBackoff(task)}`;
    case TaskStatus.SUSPENDED:
      return `${name} ${explainWaits(run, task, nowMs, runNumber)}`;
    case TaskStatus.LEASED:
      return !mustStop(run, task)
        ? `${name}${undoing(run, task)} has run at worker "${task.worker}" for ${formatLength(nowMs - task.leasedAtMs)} (attempt ${task.attempt} of ${attemptsMax})${besideReview(run, task)}`
        : `${name} was told to stop, and worker "${task.worker}" may still clean up`;
    case TaskStatus.READY:
      return `${name}${undoing(run, task)} ${explainReady(run, task, from, `${next}${afterFailure(task)}`)}`;
    default:
      return `${name} ${explainNeeds(run, task)}`;
  }
}

/** Says that a task which runs waits for a person as well. */
function besideReview(run: Run, task: Task): string {
  const review = awaitedReview(run, task);
  return review === undefined
    ? ""
    : `, and waits for a person: ${explainOperationReview(run, review.number)}`;
}

/** Says what a task rolls back. */
function undoing(run: Run, { rollsBack }: Task): string {
  const undone = rollsBack === undefined ? undefined : run.tasks[rollsBack];
  return undone === undefined ? "" : `, which rolls back what "${nameOf(run, undone)}" did,`;
}

/** What would go on by itself, were its run not paused. */
const waitsForResume: ReadonlySet<TaskStatus> = new Set([TaskStatus.READY, TaskStatus.BACKOFF]);

/** Whether all who could take it are busy, or there is nobody: only the one is mended by waiting. */
function explainReady(run: Run, task: Task, from: Standpoint, next: string): string {
  const spec = specOf(run, task.number);
  if (spec === undefined) {
    return `waits for a free worker for ${next}`;
  }
  const { nowMs, isServed } = from;
  const isFollowing = followsCurrent(run, spec);
  const since = `has been ready for ${next} for ${formatLength(nowMs - task.readyAtMs)}, but`;
  const current = isFollowing ? from.currentVersion?.(run.namespace, run.workflow) : undefined;
  if (current === 0) {
    return `${since} its run follows the current version of workflow "${run.workflow}", and none is set: set one`;
  }
  const kind = current === undefined ? spec.kind : kindAt(run.workflow, current);
  const serves = `serves kind "${kind}"${queueWords(spec)}${isFollowing ? ", the current version," : ""}`;
  const kept = run.codeVersion !== undefined && !isFollowing ? "; the run keeps its version" : "";
  return isServed?.(run.namespace, spec.queue, queuedKind(run, spec)) !== false
    ? `waits for a free worker that ${serves} for ${next}`
    : `${since} no worker that ${serves} is connected${kept}`;
}

function queueWords(spec: { readonly kind: string; readonly queue: string } | undefined): string {
  return spec === undefined || spec.queue === spec.kind ? "" : ` in queue "${spec.queue}"`;
}

function afterFailure(task: Task): string {
  return task.failure === undefined
    ? ""
    : `, after the last one failed with ${describeFailure(task.failure)}`;
}

function explainBackoff(task: Task): string {
  if (task.leaseEndReason === LeaseEndReason.RETURNED) {
    const note = task.trouble?.note ?? "";
    return `its worker gave it back${note === "" ? "" : ` ("${cut(note)}")`}`;
  }
  return task.failure === undefined
    ? "its worker gave it back"
    : `the last one failed with ${describeFailure(task.failure)}`;
}

function explainReview(run: Run, task: Task): string {
  const review = run.reviews.find(
    (each) => each.resolvedAtMs === 0 && each.waitingTasks.includes(task.number),
  );
  if (review?.subject === ReviewSubject.TASK) {
    return explainTaskReview(run, task, review);
  }
  return explainOperationReview(run, review?.number);
}

function explainTaskReview(run: Run, task: Task, { returned }: Review): string {
  const { workerLosses = 0, failures = [] } = task.trouble ?? {};
  const last = failures.at(-1);
  const how = last === undefined ? "" : `, the last one with ${describeFailure(last)}`;
  const lossesMax = specOf(run, task.number)?.retry.workerLossesMax ?? 0;
  if (returned !== undefined) {
    return "its code returned, but did not reach all that is recorded of it; say whether that stands, in its review";
  }
  if (last?.kind === "RecordMismatch") {
    return `its code does not fit what is recorded: ${last.message}; serve code that does, and resolve its review`;
  }
  const what =
    workerLosses >= lossesMax
      ? `${formatCount(workerLosses, "attempt")} in a row lost ${workerLosses === 1 ? "its worker" : "their workers"}`
      : task.rollsBack !== undefined
        ? `what "${nameOfTask(run, task.rollsBack)}" did could not be rolled back${how}`
        : `its ${formatCount(task.usedAttempts, "attempt")} are used up${how}`;
  return `${what}; resolve its review`;
}

/** Name of a task. */
function nameOf(run: Run, task: Task): string {
  return plannedSpec(run, task.number)?.name ?? `${task.number}`;
}
