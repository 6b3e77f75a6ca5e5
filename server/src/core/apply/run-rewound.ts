import { LeaseEndReason } from "@pawl/proto/log/v1/event_pb.js";
import { InputStatus } from "@pawl/proto/v1/input_pb.js";
import { RunStatus, TaskStatus } from "@pawl/proto/v1/run_pb.js";
import type { EventMeta, EventValue } from "../event.js";
import { lostLeaseCause } from "../lease-cause.js";
import { plannedSpec } from "../plan/tasks-of-run.js";
import type { MutableRun, MutableTask } from "../state.js";
import { isRunOpen, isTaskClosed } from "../transitions.js";
import { CorruptHistory } from "./corrupt.js";
import { dropRecords } from "./drop-records.js";
import type { ApplyHooks } from "./hooks.js";
import { indexAnew } from "./index-run.js";
import { endInput } from "./inputs.js";
import { keepBytes } from "./keep.js";
import { announceTask, taskOf } from "./move-task.js";

/** The run goes on from an earlier point. Takes time in proportion to the run. */
export function applyRunRewound(
  run: MutableRun,
  event: EventValue<"runRewound">,
  meta: EventMeta,
  hooks: ApplyHooks,
): void {
  const { generation } = event;
  if (generation !== run.generation + 1) {
    throw new CorruptHistory(
      `generation ${run.generation + 1} of run "${run.runId}" next`,
      `it is ${generation}`,
    );
  }
  const keptThrough = new Map(event.gone.map((number) => [number, 0]));
  for (const number of event.gone) {
    removeTask(unhold(run, number, hooks), generation, meta);
  }
  for (const { task, keepThrough } of event.reopened) {
    reopenTask(unhold(run, task, hooks), generation);
    keptThrough.set(task, keepThrough);
  }
  const { kind, staleSteps, dropsMessages } = event;
  const how = { kind, keptThrough, staleSteps: new Set(staleSteps) };
  for (const wait of dropRecords(run, generation, how, dropsMessages)) {
    wait.closedAtMs = wait.closedAtMs === 0 ? meta.atMs : wait.closedAtMs;
    endInput(run, wait, InputStatus.WITHDRAWN, meta);
  }
  goOn(run, event, meta);
  indexAnew(run);
  const { requestId, digest } = event;
  const kept = { requestId, digest: keepBytes(digest), atMs: meta.atMs };
  const note = { generation, event: meta.number, ...kept };
  run.rewinds = [...run.rewinds, note];
  announce(run, event, { meta, hooks });
}

/** Whoever holds it is told; what it still reports counts no more. */
function unhold(run: MutableRun, number: number, hooks: ApplyHooks): MutableTask {
  const task = taskOf(run, number);
  if (task.status === TaskStatus.LEASED) {
    task.leaseEndReason = LeaseEndReason.REWOUND;
    task.sessionId = "";
    hooks.leaseOver(run, number, lostLeaseCause(LeaseEndReason.REWOUND));
  }
  return task;
}

/** Its records stay in the history; its number is not given to another. */
function removeTask(task: MutableTask, generation: number, meta: EventMeta): void {
  task.dropped = generation;
  task.version++;
  if (!isTaskClosed(task.status)) {
    task.status = TaskStatus.CANCELLED;
    task.closedAtMs = meta.atMs;
    task.closedEvent = meta.number;
  }
}

/** As if it had never been leased, but for the lease version, which only rises. Whether it is BLOCKED follows from what it needs. */
function reopenTask(task: MutableTask, generation: number): void {
  task.generation = generation;
  task.status = TaskStatus.BLOCKED;
  task.version++;
  task.attempt = 0;
  task.usedAttempts = 0;
  task.sessionId = "";
  task.worker = "";
  task.firstReadyAtMs = 0;
  task.readyAtMs = 0;
  task.dueAtMs = 0;
  task.closedAtMs = 0;
  task.closedEvent = 0;
  task.output = undefined;
  task.failure = undefined;
  task.progress = undefined;
  task.inputsEvent = 0;
  task.unacknowledgedOffers = 0;
  task.reportedLeaseVersion = 0;
  task.trouble = undefined;
  task.endedByPerson = false;
  task.suspensions = 0;
  task.stop = undefined;
  task.abandoned = false;
}

function goOn(run: MutableRun, event: EventValue<"runRewound">, meta: EventMeta): void {
  run.generation = event.generation;
  run.version++;
  run.deadline = event.deadline;
  run.cancelRequestedAtMs = 0;
  run.cancelReason = "";
  run.timedOut = false;
  if (!isRunOpen(run.status)) {
    run.status = RunStatus.RUNNING;
    run.closedAtMs = 0;
    run.failure = undefined;
    run.pause = undefined;
  }
  run.eventCount = meta.number;
}

function announce(
  run: MutableRun,
  event: EventValue<"runRewound">,
  { meta, hooks }: { readonly meta: EventMeta; readonly hooks: ApplyHooks },
): void {
  hooks.deadlineMoved(run);
  for (const number of event.gone) {
    hooks.taskMoved(run, number);
  }
  for (const { task: number } of event.reopened) {
    const task = taskOf(run, number);
    if (task.openNeeds === 0) {
      task.status = TaskStatus.READY;
      task.firstReadyAtMs = meta.atMs;
      task.readyAtMs = meta.atMs;
      const hasJoin = run.plan.ranks !== undefined && hasNeeds(run, number);
      task.inputsEvent = hasJoin ? meta.number : 0;
      announceTask(run, number, hooks);
    } else {
      hooks.taskMoved(run, number);
    }
  }
}

function hasNeeds(run: MutableRun, number: number): boolean {
  return (plannedSpec(run, number)?.needs.length ?? 0) > 0;
}
