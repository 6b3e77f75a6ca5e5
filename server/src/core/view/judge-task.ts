import { RecoveryClass } from "@pawl/proto/v1/recovery_pb.js";
import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { awaitedReview } from "../awaited-review.js";
import { isLost } from "../joins.js";
import { supersededIn } from "../plan/plan-versions.js";
import { plannedSpec } from "../plan/tasks-of-run.js";
import type { Run, Task } from "../state.js";
import { isTaskClosed, taskStatusName } from "../transitions.js";
import { explainNeverReady, goneOver } from "./explain-needs.js";
import { formatCount } from "./format-length.js";
import type { RecoveryView, Verdict } from "./recovery-report.js";
import { explainWait, type Standpoint } from "./why.js";

/** Which class a task is in, and why. */
export function judgeTask(run: Run, task: Task, from: Standpoint, view: RecoveryView): Verdict {
  if (!isTaskClosed(task.status)) {
    return judgeOpenTask(run, task, from);
  }
  const status = taskStatusName(task.status);
  const { closedEvent = 0, again = 0, leasedEvent = 0 } = view.facts.tasks[task.number] ?? {};
  const owed = `${goneOver(run, task)}${owedWords(run, task)}`;
  const planVersion = supersededIn(run, task.number);
  if (planVersion > 0) {
    return [
      RecoveryClass.SUPERSEDED,
      `Plan version ${planVersion} superseded it; it is ${status}, and counts no more for the run.${owed}`,
    ];
  }
  if (view.sinceEvent > 0 && closedEvent <= view.sinceEvent) {
    return consumerBeganAfter(run, task, view)
      ? [RecoveryClass.REUSED, `It was ${status} before, and what is recorded of it stood.${owed}`]
      : [RecoveryClass.UNTOUCHED, `It was ${status} before.${owed}`];
  }
  if (isLost(task) && task.firstReadyAtMs === 0) {
    return [RecoveryClass.SKIPPED, explainNeverReady(run, task)];
  }
  if (task.endedByPerson) {
    return [RecoveryClass.RECONCILED, `A person said how it ended; it is ${status}.${owed}`];
  }
  if (leasedEvent === 0) {
    return [RecoveryClass.SKIPPED, `It never ran${whyNever(task)}.`];
  }
  if (again > 0) {
    return [
      RecoveryClass.RETRIED,
      `${retriedWords(task, again, view)}; now it is ${status}.${reusedSteps(task)}${owed}`,
    ];
  }
  if (consumerBeganAfter(run, task, view)) {
    return [
      RecoveryClass.REUSED,
      `It ran once and is ${status}; what is recorded of it stood when what needs it began again.${owed}`,
    ];
  }
  return [RecoveryClass.UNTOUCHED, `It ran once${waitedWords(task)} and is ${status}.${owed}`];
}

function judgeOpenTask(run: Run, task: Task, from: Standpoint): Verdict {
  if (run.fault !== "") {
    return [
      RecoveryClass.NEEDS_REVIEW,
      "Its run is set aside for a person, because the kernel's own code failed for it.",
    ];
  }
  const wait = explainWait(run, task.number, from);
  const sentence = wait === "" ? `Attempt ${task.attempt} runs at worker "${task.worker}".` : wait;
  const isReviewed =
    task.status === TaskStatus.NEEDS_REVIEW || awaitedReview(run, task)?.resolvedAtMs === 0;
  return [isReviewed ? RecoveryClass.NEEDS_REVIEW : RecoveryClass.WAITING, sentence];
}

/** True when whoever takes its outcome was handed out again after it had ended: its caller, or a task of the plan that needs it. */
function consumerBeganAfter(run: Run, task: Task, { facts, sinceEvent }: RecoveryView): boolean {
  const closedEvent = facts.tasks[task.number]?.closedEvent ?? 0;
  const consumers =
    task.caller === undefined ? plannedSpec(run, task.number)?.dependents : [task.caller];
  return (consumers ?? []).some((number) => {
    const consumer = facts.tasks[number];
    const { inputsEvent = 0 } = run.tasks[number] ?? {};
    if (task.caller === undefined && inputsEvent > 0 && closedEvent > inputsEvent) {
      return false; // It ended too late to be an input of that one.
    }
    const began = sinceEvent > 0 ? consumer?.leasedEvent : consumer?.againEvent;
    return closedEvent > 0 && (began ?? 0) > Math.max(closedEvent, sinceEvent);
  });
}

function whyNever(task: Task): string {
  switch (task.status) {
    case TaskStatus.FAILED:
      return `: it failed before${task.failure === undefined ? "" : ` with ${task.failure.kind}`}`;
    default:
      return ", because its run was ended first";
  }
}

function retriedWords(task: Task, again: number, { sinceEvent }: RecoveryView): string {
  if (sinceEvent > 0) {
    return `It was handed out again${again === 1 ? "" : ` ${again} times`}`;
  }
  return task.usedAttempts > 1
    ? `It took ${formatCount(task.usedAttempts, "attempt")}`
    : `It was handed out ${again + 1} times, and one attempt counts`;
}

function waitedWords({ suspensions }: Task): string {
  return suspensions === 0 ? "" : `, waited ${suspensions === 1 ? "once" : `${suspensions} times`}`;
}

function reusedSteps(task: Task): string {
  const count = task.steps.length;
  return count === 0
    ? ""
    : ` ${formatCount(count, "recorded step")} ${count === 1 ? "was" : "were"} kept through all attempts.`;
}

/** What it sent to other runs that has no answer yet: the kernel sees to that. */
function owedWords(run: Run, { number }: Task): string {
  const receivers = [...run.openObligations].flatMap((owed) => {
    const { declaration, earlier } = run.obligations[owed] ?? {};
    return declaration?.task === number && earlier === false ? [`"${declaration.runId}"`] : [];
  });
  const [first] = receivers;
  const rest = receivers.length - 1;
  return first === undefined
    ? ""
    : ` Run ${first}${rest === 0 ? " has" : ` and ${rest} more have`} not answered yet what it sent.`;
}
