import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import type { ChangeTask, TaskChangeOrder } from "../command.js";
import type { DecideContext } from "../context.js";
import { accept, acceptExisting, type Decision, reject } from "../decision.js";
import type { EventBody, EventValue } from "../event.js";
import { equalBytes } from "../identity/content-digest.js";
import { refusePolicy } from "../plan/change-spec.js";
import { compileRetry } from "../plan/compile-plan.js";
import { illegalTransition, invalidField, type Rejection, staleVersion } from "../rejection.js";
import { type Run, taskVersion } from "../state.js";
import { isRunOpen, isTaskClosed, taskStatusName } from "../transitions.js";
import { doubtOpenCalls } from "./doubts.js";
import { type FoundTask, findTask, runOver, taskNotFound } from "./find.js";

/**
 * Changes a task as an operator says. Refusals, in order: no task, run over, stale version, a state that does not allow it, a bad policy. The same
 * request again is answered `existing`.
 */
export function decideChangeTask(run: Run, command: ChangeTask, ctx: DecideContext): Decision {
  const found = findTask(run, command.task);
  if (found === undefined) {
    return reject(taskNotFound(command.task));
  }
  const { task } = found;
  if (isRepeat(found, command)) {
    return acceptExisting();
  }
  if (!isRunOpen(run.status)) {
    return reject(runOver(run, "ChangeTask"));
  }
  const version = taskVersion(run, task);
  if (command.expectedVersion !== version) {
    return reject(staleVersion("task", command.expectedVersion, version));
  }
  const refusal = refuseState(run, found, command.change) ?? refuseChange(found, command.change);
  if (refusal !== undefined) {
    return reject(refusal);
  }
  const { reason, digest, expectedVersion } = command;
  const changed: EventBody = {
    case: "taskChanged",
    value: {
      task: task.number,
      expectedVersion,
      digest,
      reason,
      principal: ctx.principal,
      change: changeOf(command.change),
    },
  };
  const ends = command.change.case === "completed" || command.change.case === "failed";
  const doubts = ends ? doubtOpenCalls(run, task.number, task.leaseVersion) : [];
  return accept([...doubts, changed]);
}

function isRepeat({ task }: FoundTask, { expectedVersion, digest }: ChangeTask): boolean {
  return (
    task.change !== undefined &&
    task.change.expectedVersion === expectedVersion &&
    equalBytes(task.change.digest, digest)
  );
}

function changeOf(order: TaskChangeOrder): EventValue<"taskChanged">["change"] {
  switch (order.case) {
    case "completed":
      return { case: "completed", value: { output: order.output } };
    case "policy": {
      const { retry, timeouts } = order;
      return { case: "policy", value: { retry, timeouts } };
    }
    default:
      return { case: order.case, value: {} };
  }
}

const words: Readonly<Record<TaskChangeOrder["case"], string>> = {
  backoffSkipped: "run it now",
  completed: "complete it by hand",
  failed: "fail it by hand",
  attemptsReset: "reset its attempts",
  policy: "change its policy",
};

const atHand: readonly TaskStatus[] = [
  TaskStatus.READY,
  TaskStatus.LEASED,
  TaskStatus.BACKOFF,
  TaskStatus.SUSPENDED,
];

function refuseState(
  run: Run,
  { task, spec }: FoundTask,
  change: TaskChangeOrder,
): Rejection | undefined {
  const isAllowed =
    change.case === "policy"
      ? !isTaskClosed(task.status)
      : (change.case === "backoffSkipped" ? [TaskStatus.BACKOFF] : atHand).includes(task.status);
  if (isAllowed) {
    return undefined;
  }
  const status = taskStatusName(task.status);
  const review = run.reviews.find(
    ({ resolvedAtMs, waitingTasks }) => resolvedAtMs === 0 && waitingTasks.includes(task.number),
  );
  const legal =
    task.status === TaskStatus.NEEDS_REVIEW && review !== undefined
      ? ["resolve its review"]
      : (nextSteps.get(task.status) ?? []);
  const next = legal.length === 0 ? "nothing: this state is final" : legal.join(", or ");
  return illegalTransition(
    "PAWL_ILLEGAL_TRANSITION",
    { entity: "task", status, command: words[change.case], legal },
    `Expected a task that one may tell to ${words[change.case]}, but "${spec.name}" is ${status}. Next: ${next}.`,
  );
}

const nextSteps: ReadonlyMap<TaskStatus, readonly string[]> = new Map([
  [TaskStatus.BLOCKED, ["complete what it needs", "change its policy"]],
  [TaskStatus.READY, ["wait for a free worker", "complete it", "fail it"]],
  [TaskStatus.LEASED, ["wait for its report", "complete it", "fail it"]],
  [TaskStatus.SUSPENDED, ["wait for what it waits for", "complete it", "fail it"]],
]);

function refuseChange({ task, spec }: FoundTask, change: TaskChangeOrder): Rejection | undefined {
  if (change.case !== "policy") {
    return undefined;
  }
  const bad = refusePolicy(spec, change);
  if (bad !== undefined) {
    return bad;
  }
  const used = task.usedAttempts - (task.trouble?.forgivenAttempts ?? 0);
  const attemptsMax =
    change.retry === undefined
      ? spec.retry.attemptsMax
      : compileRetry(change.retry, "policy.retry").attemptsMax;
  return attemptsMax <= used && task.status !== TaskStatus.NEEDS_REVIEW
    ? invalidField(
        "policy.retry.attempts_max",
        `above the ${used} attempts that are used`,
        `${attemptsMax}`,
      )
    : undefined;
}
