import { OperationStatus } from "@pawl/proto/v1/operation_pb.js";
import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { RecoveryClass } from "@pawl/proto/v1/run_service_pb.js";
import { isLost } from "../joins.js";
import { nameOfTask } from "../plan/tasks-of-run.js";
import type { Operation, Run, Task } from "../state.js";
import {
  isProposalOpen,
  isSettled,
  isTaskClosed,
  operationStatusName,
  taskStatusName,
} from "../transitions.js";
import type { EventIndex } from "./event-index.js";
import { explainNeverReady, goneOver } from "./explain-needs.js";
import { explainUnperformed } from "./explain-proposal.js";
import { formatCount, formatLength } from "./format-length.js";
import { describeFailure, explainWait, type Standpoint } from "./why.js";

/** One line of the report: what recovery did about a task, or about an operation of it. */
export interface RecoveryReportLine {
  readonly class: RecoveryClass;
  readonly task: string;
  /** Empty for a line about the task itself. */
  readonly operationKey: string;
  readonly sentence: string;
  readonly eventNumbers: readonly number[];
}

/** What a line says. */
type Verdict = readonly [RecoveryClass, string];

/**
 * The recovery report of a run: tasks in plan order, each followed by its operations, so that each is on exactly one line.
 * The classes follow from the state alone: attempts and leases beyond the first, calls beyond the first, how an operation was settled.
 */
export function buildRecoveryReport(
  run: Run,
  from: Standpoint,
  events: EventIndex,
): RecoveryReportLine[] {
  const { nowMs } = from;
  const byTask = new Map<number, Operation[]>();
  for (const operation of run.operations) {
    const { task } = operation.declaration;
    byTask.set(task, [...(byTask.get(task) ?? []), operation]);
  }
  const lines: RecoveryReportLine[] = [];
  for (const task of run.tasks) {
    const name = nameOfTask(run, task.number);
    const [kind, sentence] = judgeTask(run, task, from);
    lines.push({
      class: kind,
      task: name,
      operationKey: "",
      sentence,
      eventNumbers: events.ofTask(task.number),
    });
    lines.push(...linesOfProposals(run, task, nowMs, events));
    for (const operation of byTask.get(task.number) ?? []) {
      const [operationClass, words] = judgeOperation(run, operation, nowMs);
      lines.push({
        class: operationClass,
        task: name,
        operationKey: operation.declaration.key,
        sentence: words,
        eventNumbers: events.ofOperation(operation.number),
      });
    }
  }
  return lines;
}

/** What was proposed and not performed: the newest proposal of each operation's key. */
function linesOfProposals(
  run: Run,
  task: Task,
  nowMs: number,
  events: EventIndex,
): RecoveryReportLine[] {
  if (run.proposals.length === 0) {
    return [];
  }
  return run.proposals
    .filter(
      ({ declaration, revisedBy, operation }) =>
        declaration.task === task.number && revisedBy === undefined && operation === undefined,
    )
    .map((proposal) => ({
      class: isProposalOpen(proposal.status) ? RecoveryClass.WAITING : RecoveryClass.SKIPPED,
      task: nameOfTask(run, task.number),
      operationKey: proposal.declaration.key,
      sentence: explainUnperformed(proposal, nowMs),
      eventNumbers: events.ofProposal(proposal.number),
    }));
}

function judgeTask(run: Run, task: Task, from: Standpoint): Verdict {
  if (!isTaskClosed(task.status)) {
    return judgeOpenTask(run, task, from);
  }
  if (isLost(task) && task.firstReadyAtMs === 0) {
    return [RecoveryClass.SKIPPED, explainNeverReady(run, task)];
  }
  if (task.leaseVersion === run.leaseVersionBase) {
    return [RecoveryClass.SKIPPED, "It never ran, because its run was ended first."];
  }
  const status = taskStatusName(task.status);
  const begun = task.leaseVersion - run.leaseVersionBase - task.suspensions;
  if (begun <= 1) {
    const waits =
      task.suspensions === 0
        ? ""
        : `, waited ${task.suspensions === 1 ? "once" : `${task.suspensions} times`}`;
    return [
      RecoveryClass.UNDISTURBED,
      `It ran once${waits} and is ${status}.${goneOver(run, task)}${owedWords(run, task)}`,
    ];
  }
  const tries =
    task.usedAttempts > 1
      ? `It took ${formatCount(task.usedAttempts, "attempt")}`
      : `It was handed out ${begun} times, and one attempt counts`;
  const rest = `${reusedSteps(task)}${goneOver(run, task)}${owedWords(run, task)}`;
  return [RecoveryClass.RETRIED, `${tries}; now it is ${status}.${rest}`];
}

function judgeOpenTask(run: Run, task: Task, from: Standpoint): Verdict {
  if (run.fault !== "") {
    return [
      RecoveryClass.NEEDS_REVIEW,
      "Its run is set aside for a person, because the kernel's own code failed for it.",
    ];
  }
  const wait = explainWait(run, task.number, from);
  if (task.status === TaskStatus.NEEDS_REVIEW) {
    return [RecoveryClass.NEEDS_REVIEW, wait];
  }
  return [
    RecoveryClass.WAITING,
    wait === "" ? `Attempt ${task.attempt} runs at worker "${task.worker}".` : wait,
  ];
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

function judgeOperation(run: Run, operation: Operation, nowMs: number): Verdict {
  if (operation.status === OperationStatus.NEEDS_REVIEW) {
    return [
      RecoveryClass.NEEDS_REVIEW,
      `Nobody knows whether its effect happened: it was called ${times(operation.calls)}. A person must say.`,
    ];
  }
  if (!isSettled(operation.status)) {
    return [RecoveryClass.WAITING, explainUnsettled(operation, nowMs)];
  }
  const status = operationStatusName(operation.status);
  if (operation.reconciled) {
    return [RecoveryClass.RECONCILED, `${explainReconciled(operation)}; it is ${status}.`];
  }
  if (operation.calls > 1) {
    return [
      RecoveryClass.RETRIED,
      `It was called ${times(operation.calls)} under the same key; it is ${status}.`,
    ];
  }
  const task = run.tasks[operation.task];
  if (task !== undefined && task.leaseVersion > operation.leaseVersion) {
    return [
      RecoveryClass.REUSED,
      `It was called once and is ${status}; the recorded outcome stood for every later attempt of the task.`,
    ];
  }
  return [RecoveryClass.UNDISTURBED, `It was called once and is ${status}.`];
}

function times(calls: number): string {
  return calls === 1 ? "once" : `${calls} times`;
}

function explainUnsettled(operation: Operation, nowMs: number): string {
  if (operation.status === OperationStatus.INTENDED) {
    return operation.callOpen
      ? `Its call may be under way${untilWords(operation.callByMs - nowMs)}.`
      : "Its last call provably never left; the next attempt calls again.";
  }
  const last = operation.failure === undefined ? "" : ` (${describeFailure(operation.failure)})`;
  return `The outcome of its last call is unknown${last}; the next attempt settles it.`;
}

function untilWords(leftMs: number): string {
  return leftMs > 0 ? ` for ${formatLength(leftMs)} more` : "";
}

function explainReconciled(operation: Operation): string {
  if (operation.status === OperationStatus.ABANDONED) {
    return "A person gave it up";
  }
  return `The outcome of its call was unknown, and was settled by a look-up, a late observation or a person after ${formatCount(operation.calls, "call")}`;
}
