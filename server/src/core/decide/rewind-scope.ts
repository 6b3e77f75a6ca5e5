import { OnNeedFailure } from "@pawl/proto/v1/plan_pb.js";
import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { neededCount, needRule } from "../plan/compile-join.js";
import { plannedSpec } from "../plan/tasks-of-run.js";
import type { Run, Task } from "../state.js";
import { isTaskClosed } from "../transitions.js";

/** Which tasks are open again when a run goes on from an earlier point, and which are no longer of it. */
export interface RewindScope {
  /** Up to which event the records of each task stay that is open again. */
  readonly reopened: ReadonlyMap<number, number>;
  readonly gone: ReadonlySet<number>;
}

interface GatheredScope extends RewindScope {
  readonly reopened: Map<number, number>;
  readonly gone: Set<number>;
}

const { BLOCKED, CANCELLED, COMPLETED, FAILED, SKIPPED } = TaskStatus;

/** Of the state after an event: whatever was not over then is open again. A request to stop the run is taken back, whenever it came, and with it what was cancelled for it. */
export function scopeAfterEvent(run: Run, event: number): RewindScope {
  const scope = emptyScope();
  for (const task of plannedTasks(run)) {
    if (task.firstReadyAtMs !== 0 && isOpenAgain(run, task, event)) {
      scope.reopened.set(task.number, event);
    }
  }
  reopenDerived(run, scope, (task) => isOpenAgain(run, task, event));
  reopenUnsatisfied(run, scope);
  followCalls(run, scope, (called, through) => called.calledEvent > through);
  for (const { number, rollsBack, status, closedEvent, dropped } of run.tasks) {
    const isOver = isTaskClosed(status) && closedEvent <= event;
    if (rollsBack !== undefined && dropped === 0 && !scope.gone.has(number) && !isOver) {
      scope.reopened.set(number, event);
    }
  }
  return scope;
}

/** True for a task that was not over after the event, or only because the run was asked to stop. */
function isOpenAgain(run: Run, task: Task, event: number): boolean {
  const { status, closedEvent, closedAtMs } = task;
  const { cancelRequestedAtMs } = run;
  const isOfRequest = cancelRequestedAtMs !== 0 && closedAtMs >= cancelRequestedAtMs;
  const isUndone = status === CANCELLED && isOfRequest;
  return !isTaskClosed(status) || closedEvent > event || isUndone;
}

/** Of a task, up to what of its records stays, and of everything that depends on it. Empty when it cannot run, since what it needs has failed. */
export function scopeOfTask(run: Run, number: number, through: number): RewindScope {
  const scope = emptyScope();
  const task = run.tasks[number];
  const isOfPlan = task?.caller === undefined;
  if (task !== undefined && isOfPlan && isDerived(task) && !mayBeReady(run, scope, number)) {
    return scope; // What it needs has failed: that is to run again first.
  }
  reopenWithDependents(run, scope, number, through);
  reopenDerived(run, scope, () => true);
  reopenUnsatisfied(run, scope);
  followCalls(run, scope, (called, kept) => called.calledEvent > kept);
  return scope;
}

/**
 * What failed, with the failed calls of it, and what was skipped for it.
 *
 * @param names of tasks of the plan; empty: all that failed.
 * @param withCancelled true: what was cancelled, too.
 */
export function scopeOfRetry(
  run: Run,
  names: readonly string[],
  withCancelled: boolean,
): RewindScope {
  const scope = emptyScope();
  const wanted = new Set(names.map((name) => run.plan.byName.get(name)));
  const through = run.eventCount;
  for (const { number, status, firstReadyAtMs } of plannedTasks(run)) {
    const isWanted = names.length === 0 || wanted.has(number);
    if (isWanted && status === FAILED && firstReadyAtMs !== 0) {
      scope.reopened.set(number, through);
    }
  }
  reopenDerived(run, scope, ({ number, status }) => {
    const isNamed = names.length === 0 || wanted.has(number);
    return status !== CANCELLED || (withCancelled && isNamed);
  });
  reopenUnsatisfied(run, scope);
  for (const called of run.tasks) {
    retryCall(run, scope, called);
  }
  dropRollbacks(run, scope);
  return scope;
}

/** A call of what runs again from its top goes; of what runs again over its records it runs again when it failed, or was cancelled because its caller had ended. */
function retryCall(run: Run, { reopened, gone }: GatheredScope, called: Task): void {
  const { number, status, closedEvent, dropped } = called;
  const caller = run.tasks[called.caller ?? -1];
  if (caller === undefined || dropped !== 0) {
    return;
  }
  const through = reopened.get(caller.number);
  if (through === 0 || gone.has(caller.number)) {
    gone.add(number);
  } else if (through !== undefined) {
    const isLeft = status === CANCELLED && closedEvent > caller.closedEvent;
    if (status === FAILED || isLeft) {
      reopened.set(number, through);
    }
  }
}

/** What went on over a failure that is tried again, and could not without it, runs again from its top, and so does what went on after it. */
function reopenUnsatisfied(run: Run, scope: GatheredScope): void {
  let before = -1;
  while (before !== scope.reopened.size) {
    before = scope.reopened.size;
    for (const { number, needs } of run.plan.tasks) {
      const wasReady = (run.tasks[number]?.firstReadyAtMs ?? 0) !== 0;
      const isConcerned =
        wasReady && !scope.reopened.has(number) && needs.some((need) => scope.reopened.has(need));
      if (isConcerned && !isSatisfied(run, scope, number)) {
        scope.reopened.set(number, 0);
      }
    }
  }
}

/** True while enough of what a task needs has ended so that it counts, without what is open again. */
function isSatisfied(run: Run, { reopened }: RewindScope, number: number): boolean {
  const spec = plannedSpec(run, number);
  if (spec === undefined) {
    return true;
  }
  const counting = spec.needs.filter((need) => {
    const status = run.tasks[need]?.status ?? FAILED;
    const isLost = status === FAILED || status === SKIPPED;
    const counts = isLost && needRule(spec, need) === OnNeedFailure.CONTINUE;
    return !reopened.has(need) && (status === COMPLETED || counts);
  });
  return counting.length >= neededCount(spec);
}

function emptyScope(): GatheredScope {
  return { reopened: new Map(), gone: new Set() };
}

/** The tasks of the present plan. */
function plannedTasks(run: Run): readonly Task[] {
  return run.plan.tasks.flatMap(({ number }) => run.tasks[number] ?? []);
}

/** True for a task that never ended by itself: what became of it follows from others. */
function isDerived({ status, firstReadyAtMs }: Task): boolean {
  return status === SKIPPED || status === CANCELLED || (status === FAILED && firstReadyAtMs === 0);
}

/** Opens what was skipped or cancelled, of those that are wanted, as long as nothing that it needs has ended without a result and stays so. */
function reopenDerived(run: Run, scope: GatheredScope, wanted: (task: Task) => boolean): void {
  const left = plannedTasks(run).filter(
    (task) => isDerived(task) && !scope.reopened.has(task.number) && wanted(task),
  );
  let before = -1;
  while (before !== scope.reopened.size) {
    before = scope.reopened.size;
    for (const { number } of left) {
      if (!scope.reopened.has(number) && mayBeReady(run, scope, number)) {
        scope.reopened.set(number, 0);
      }
    }
  }
}

/** True while enough of what it needs has counted, or may still count. */
function mayBeReady(run: Run, { reopened }: RewindScope, number: number): boolean {
  const spec = plannedSpec(run, number);
  if (spec === undefined) {
    return false;
  }
  const left = spec.needs.filter((need) => {
    const status = run.tasks[need]?.status ?? FAILED;
    return !reopened.has(need) && isTaskClosed(status) && status !== COMPLETED;
  });
  const lost = left.filter((need) => needRule(spec, need) !== OnNeedFailure.CONTINUE);
  const isCut = left.some((need) => run.tasks[need]?.status === CANCELLED);
  return !isCut && lost.length <= spec.needs.length - neededCount(spec);
}

function reopenWithDependents(
  run: Run,
  scope: GatheredScope,
  number: number,
  through: number,
): void {
  const task = run.tasks[number];
  const known = scope.reopened.get(number);
  if (task === undefined || (known !== undefined && known <= through)) {
    return;
  }
  scope.reopened.set(number, through);
  if (task.caller !== undefined && isTaskClosed(task.status)) {
    // Its caller may have been told of its end: it goes on from just before.
    reopenWithDependents(run, scope, task.caller, task.closedEvent - 1);
  }
  for (const dependent of plannedSpec(run, number)?.dependents ?? []) {
    const next = run.tasks[dependent];
    if (next !== undefined && next.status !== BLOCKED && !isDerived(next)) {
      reopenWithDependents(run, scope, dependent, 0);
    }
  }
}

/** What was called after the point goes; what was called before it and had not ended then is open again. Callers have lower numbers than what they call. */
function followCalls(
  run: Run,
  scope: GatheredScope,
  isAfter: (called: Task, through: number) => boolean,
): void {
  for (const called of run.tasks) {
    const { number, caller = -1, dropped } = called;
    const through = scope.reopened.get(caller);
    const isOfGone = scope.gone.has(caller);
    if (dropped !== 0 || (through === undefined && !isOfGone)) {
      continue;
    }
    if (isOfGone || isAfter(called, through ?? 0)) {
      scope.reopened.delete(number);
      scope.gone.add(number);
    } else if (!isTaskClosed(called.status) || called.closedEvent > (through ?? 0)) {
      const known = scope.reopened.get(number) ?? Number.POSITIVE_INFINITY;
      scope.reopened.set(number, Math.min(known, through ?? 0));
    }
  }
  dropRollbacks(run, scope);
}

/** What rolls back something that is open again, or gone, goes. */
function dropRollbacks(run: Run, { reopened, gone }: GatheredScope): void {
  for (const { number, rollsBack = -1, dropped } of run.tasks) {
    if (dropped === 0 && (reopened.has(rollsBack) || gone.has(rollsBack))) {
      gone.add(number);
    }
  }
}
