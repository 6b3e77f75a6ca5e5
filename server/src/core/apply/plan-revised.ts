import { LeaseEndReason } from "@pawl/proto/log/v1/event_pb.js";
import { RunStatus, TaskStatus } from "@pawl/proto/v1/run_pb.js";
import type { EventMeta, EventValue } from "../event.js";
import { lostLeaseCause } from "../lease-cause.js";
import { specWith } from "../plan/change-spec.js";
import { compileRecordedPlan } from "../plan/compile-recorded.js";
import {
  firstVersion,
  type MutablePlanVersions,
  numberPlan,
  type PlanVersion,
} from "../plan/plan-versions.js";
import type { TaskSpec } from "../plan/task-spec.js";
import type { CalledTask, MutableRun, MutableTask } from "../state.js";
import { isTaskClosed } from "../transitions.js";
import { CorruptHistory } from "./corrupt.js";
import type { ApplyHooks } from "./hooks.js";
import { keepBytes } from "./keep.js";
import { announceTask, moveTask, taskOf } from "./move-task.js";
import { countNeeds, settleAdded } from "./needs-again.js";
import { newTask } from "./run-started.js";

/** The plan was revised. Takes time in proportion to the tasks of both plans. */
export function applyPlanRevised(
  run: MutableRun,
  event: EventValue<"planRevised">,
  meta: EventMeta,
  hooks: ApplyHooks,
): void {
  const { plan: bytes, tasks, planVersion } = event;
  const version = (run.revisions?.versions.length ?? 1) + 1;
  if (bytes === undefined || planVersion !== version) {
    throw new CorruptHistory(`version ${version} of the plan next`, `it is ${planVersion}`);
  }
  const before = new Map(run.plan.tasks.map((spec) => [spec.number, spec]));
  const revisions = revisionsOf(run);
  const plan = compileRecordedPlan(keepBytes(bytes));
  revisions.versions.push({
    planVersion,
    plan,
    tasks: [...tasks],
    reason: event.reason,
    principal: event.principal,
    createdAtMs: meta.atMs,
    eventNumber: meta.number,
    proposer: event.proposer === 0 ? undefined : event.proposer - 1,
    leaseVersionBase: greatestLeaseVersion(run),
  });
  run.version++; // Before anything is told: a task may be in its queue twice from now on.
  adoptVersion(run, revisions, planVersion);
  for (const number of before.keys()) {
    if (revisions.supersededIn[number] !== 0) {
      supersede(run, taskOf(run, number), meta, hooks);
    }
  }
  for (const spec of run.plan.tasks) {
    if (spec.number < run.tasks.length) {
      followPolicy(run, taskOf(run, spec.number), before.get(spec.number), hooks);
    }
  }
  addTasks(run, meta, hooks);
}

/** What a run knows of its plans; from here on it was revised. */
function revisionsOf(run: MutableRun): MutablePlanVersions {
  run.revisions ??= beginRevisions(run, firstVersion(run));
  return run.revisions;
}

/** Makes what a run knows of its plans, of its first one alone; nothing of it is in the run yet. */
function beginRevisions(
  run: Pick<MutableRun, "called" | "tasks">,
  first: PlanVersion,
): MutablePlanVersions {
  const specs = [...first.plan.tasks, ...run.called.map(({ spec }) => spec)];
  return {
    versions: [first],
    specs,
    appearedIn: specs.map(() => 1),
    supersededIn: specs.map(() => 0),
  };
}

/** The run goes by this version from now on: what it says of each task counts, and what it does not have is of earlier versions only. */
function adoptVersion(run: MutableRun, revisions: MutablePlanVersions, planVersion: number): void {
  const version = revisions.versions[planVersion - 1];
  if (version === undefined || version.tasks.length !== version.plan.tasks.length) {
    throw new CorruptHistory("a number for each task of the plan", `${version?.tasks.length}`);
  }
  const before = run.plan.tasks;
  run.plan = numberPlan(version.plan, version.tasks);
  for (const spec of run.plan.tasks) {
    revisions.specs[spec.number] = spec;
    revisions.appearedIn[spec.number] ??= planVersion;
    revisions.supersededIn[spec.number] ??= 0;
  }
  const present = new Set(version.tasks);
  if (present.size !== version.tasks.length) {
    throw new CorruptHistory("each task once in a plan", `${version.tasks}`);
  }
  for (const { number } of before) {
    if (!present.has(number)) {
      revisions.supersededIn[number] = planVersion;
    }
  }
}

/**
 * Makes what a run knows of its plans anew from its versions, before it has tasks.
 *
 * @param versions at least two, oldest first.
 */
export function restoreVersions(run: MutableRun, versions: readonly PlanVersion[]): void {
  const [first, ...later] = versions;
  if (first === undefined || later.length === 0) {
    throw new CorruptHistory("two versions of a plan at least", `${versions.length}`);
  }
  run.plan = first.plan;
  run.revisions = beginRevisions({ called: [], tasks: [] }, first);
  for (const version of later) {
    run.revisions.versions.push(version);
    adoptVersion(run, run.revisions, version.planVersion);
  }
}

/** A called task, or one that rolls back, joined: it is of the plan version of the task that it joined for. */
export function noteJoined(run: MutableRun, { spec }: CalledTask, joinedFor: number): void {
  const { revisions } = run;
  if (revisions !== undefined) {
    revisions.specs[spec.number] = spec;
    revisions.appearedIn[spec.number] = revisions.appearedIn[joinedFor] ?? 1;
    revisions.supersededIn[spec.number] = 0;
  }
}

/** What the first lease of a task that joins now is above: of one that joins later nobody holds an older lease. */
export function leaseBaseOf(run: MutableRun): number {
  return run.revisions?.versions.at(-1)?.leaseVersionBase ?? run.leaseVersionBase;
}

function greatestLeaseVersion(run: MutableRun): number {
  return run.tasks.reduce(
    (most, { leaseVersion }) => Math.max(most, leaseVersion),
    leaseBaseOf(run),
  );
}

/** A task is of earlier versions only: what is open of it ends, and what became of it says nothing about its run any more. */
function supersede(run: MutableRun, task: MutableTask, meta: EventMeta, hooks: ApplyHooks): void {
  task.openNeeds = 0;
  task.spareNeeds = 0;
  if (isTaskClosed(task.status)) {
    if (task.status === TaskStatus.FAILED || task.status === TaskStatus.SKIPPED) {
      run.failedTasks--;
    }
    leaveChildrenOf(run, task);
    return;
  }
  const wasLeased = task.status === TaskStatus.LEASED;
  if (wasLeased) {
    task.leaseEndReason = LeaseEndReason.SUPERSEDED;
    task.usedAttempts++;
    task.sessionId = "";
  }
  moveTask(run, task, TaskStatus.SUPERSEDED, meta);
  leaveChildrenOf(run, task);
  if (wasLeased) {
    hooks.leaseOver(run, task.number, lostLeaseCause(LeaseEndReason.SUPERSEDED));
  }
  hooks.taskMoved(run, task.number);
}

/** Children of a task that is of earlier versions only end as they would with their parent. */
function leaveChildrenOf(run: MutableRun, { number }: MutableTask): void {
  for (const child of run.openChildren) {
    if (run.obligations[child]?.declaration.task === number) {
      run.strayChildren = new Set([...run.strayChildren, child]);
    }
  }
}

/** A task that stays goes by the policy of the new version; what a person changed of it stays changed. */
function followPolicy(
  run: MutableRun,
  task: MutableTask,
  was: TaskSpec | undefined,
  hooks: ApplyHooks,
): void {
  const { number, change, status } = task;
  const spec = run.revisions?.specs[number];
  if (spec !== undefined && change !== undefined) {
    task.change = { ...change, spec: specWith(spec, change) }; // Also of one that has ended: rows say no other.
  }
  if (spec === undefined || isTaskClosed(status)) {
    return;
  }
  hooks.taskMoved(run, number);
  const isElsewhere = was?.queue !== spec.queue || was.priority !== spec.priority;
  if (isElsewhere && status === TaskStatus.READY && run.status === RunStatus.RUNNING) {
    hooks.taskReady(run, number);
  }
}

function addTasks(run: MutableRun, meta: EventMeta, hooks: ApplyHooks): void {
  const first = run.tasks.length;
  for (const spec of run.plan.tasks) {
    if (spec.number < first) {
      continue;
    }
    if (spec.number !== run.tasks.length) {
      throw new CorruptHistory(`task ${run.tasks.length} to join next`, `it is ${spec.number}`);
    }
    run.tasks.push(addedTask(spec, meta.atMs, leaseBaseOf(run)));
    run.openTasks++;
  }
  countNeeds(run);
  settleAdded(run, first, meta);
  for (let number = first; number < run.tasks.length; number++) {
    if (run.tasks[number]?.status === TaskStatus.READY) {
      announceTask(run, number, hooks);
    }
  }
}

/** A task that a revision adds, before anything is known of what it needs. */
export function addedTask(spec: TaskSpec, atMs: number, leaseVersionBase: number): MutableTask {
  const task = newTask(spec, atMs, leaseVersionBase);
  task.version = 1; // The first plan does not tell of it, so it has its row from the start.
  return task;
}

/** What a worker says of a task that was superseded under its lease is in the history; of the task it changes that it was said. */
export function applyReportCameLate(
  run: MutableRun,
  { task: number, leaseVersion }: EventValue<"reportCameLate">,
): void {
  const task = taskOf(run, number);
  if (task.status !== TaskStatus.SUPERSEDED || task.leaseVersion !== leaseVersion) {
    throw new CorruptHistory(
      `task ${number} to be superseded under lease version ${leaseVersion}`,
      `its last is ${task.leaseVersion}`,
    );
  }
  task.reportedLeaseVersion = leaseVersion;
  task.version++;
}
