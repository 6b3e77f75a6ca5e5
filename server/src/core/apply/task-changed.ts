import { LeaseEndReason } from "@pawl/proto/log/v1/event_pb.js";
import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import type { EventMeta, EventValue } from "../event.js";
import { lostLeaseCause } from "../lease-cause.js";
import { specWith } from "../plan/change-spec.js";
import { plannedSpec } from "../plan/tasks-of-run.js";
import type { MutableRun, MutableTask } from "../state.js";
import { completeByPerson, failByPerson } from "./by-person.js";
import { CorruptHistory } from "./corrupt.js";
import type { ApplyHooks } from "./hooks.js";
import { keepBytes } from "./keep.js";
import { makeReady, taskOf } from "./move-task.js";
import { forgiveAttempts } from "./trouble.js";

/** A person changed a task. */
export function applyTaskChanged(
  run: MutableRun,
  event: EventValue<"taskChanged">,
  meta: EventMeta,
  hooks: ApplyHooks,
): void {
  const task = taskOf(run, event.task);
  const { change } = event;
  const before = task.change;
  task.change = {
    expectedVersion: event.expectedVersion,
    digest: keepBytes(event.digest),
    retry: before?.retry,
    timeouts: before?.timeouts,
    spec: before?.spec,
  };
  switch (change.case) {
    case "backoffSkipped":
      task.dueAtMs = 0;
      makeReady(run, task, meta, hooks);
      break;
    case "completed":
      endLeaseOf(run, task, hooks);
      completeByPerson(run, task, keepBytes(change.value.output), { meta, hooks });
      break;
    case "failed":
      endLeaseOf(run, task, hooks);
      failByPerson(run, task, event.reason, { meta, hooks });
      break;
    case "attemptsReset":
      forgiveAttempts(task);
      task.version++;
      break;
    case "policy":
      changePolicy(run, task, change.value);
      hooks.taskMoved(run, task.number);
      break;
    default:
      throw new CorruptHistory("a change of a task", "it says none");
  }
}

/** What its worker still reports counts no more. */
function endLeaseOf(run: MutableRun, task: MutableTask, hooks: ApplyHooks): void {
  if (task.status === TaskStatus.LEASED) {
    task.leaseEndReason = LeaseEndReason.PERSON;
    task.usedAttempts++;
    task.sessionId = "";
    hooks.leaseOver(run, task.number, lostLeaseCause(LeaseEndReason.PERSON));
  }
}

function changePolicy(
  run: MutableRun,
  task: MutableTask,
  policy: Extract<EventValue<"taskChanged">["change"], { case: "policy" }>["value"],
): void {
  const planned = plannedSpec(run, task.number);
  if (task.change === undefined || planned === undefined) {
    return;
  }
  const retry = policy.retry ?? task.change.retry;
  const timeouts = policy.timeouts ?? task.change.timeouts;
  const spec = specWith(planned, { retry, timeouts });
  task.change = { ...task.change, retry, timeouts, spec };
  task.version++;
}
