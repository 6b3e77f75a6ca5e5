import type { Run } from "../state.js";
import type { CompiledPlan, JoinSpec, TaskSpec } from "./task-spec.js";

/** One version of the plan of a run. It never changes. */
export interface PlanVersion {
  /** The version, from 1. */
  readonly planVersion: number;
  /** The plan, its tasks numbered by their place in it. */
  readonly plan: CompiledPlan;
  /** Number of the task record that stands for each of its tasks. */
  readonly tasks: readonly number[];
  /** Why it was made; empty for the first. */
  readonly reason: string;
  /** Who made it; of the first who started the run. */
  readonly principal: string;
  readonly createdAtMs: number;
  /** Number of the event that made it. */
  readonly eventNumber: number;
  /** Number of the task whose code proposed it; undefined: no task did. */
  readonly proposer: number | undefined;
  /** Tasks that join the run from it on have lease versions above it: a lease of an earlier task of the same name never holds them. */
  readonly leaseVersionBase: number;
}

/** What a run that was revised knows of its plans, besides the present one. */
export interface PlanVersions {
  /** All of them, oldest first. */
  readonly versions: readonly PlanVersion[];
  /** Derived: what each task is, by its number; of one that is of earlier versions only, as the last of them said. */
  readonly specs: readonly TaskSpec[];
  /** Derived: the version in which the specification of each task first appeared, by its number; for a called one that of its caller. */
  readonly appearedIn: readonly number[];
  /** Derived: the version that has the task no more, by its number; 0: the present one has it, or it is of no plan. */
  readonly supersededIn: readonly number[];
}

/** The same, for `apply/*`, which adds to it in place. */
export interface MutablePlanVersions extends PlanVersions {
  readonly versions: PlanVersion[];
  readonly specs: TaskSpec[];
  readonly appearedIn: number[];
  readonly supersededIn: number[];
}

/** Version of the plan that a run goes by. */
export function presentPlanVersion({ revisions }: Pick<Run, "revisions">): number {
  return revisions === undefined ? 1 : revisions.versions.length;
}

/** The present plan of a run with its tasks numbered by their place in it, as it was compiled. */
export function presentPlan({ plan, revisions }: Pick<Run, "plan" | "revisions">): CompiledPlan {
  return revisions?.versions.at(-1)?.plan ?? plan;
}

/** Plan version in which a task's present specification first appeared: it is part of the keys of its operations. */
export function planVersionOf({ revisions }: Pick<Run, "revisions">, task: number): number {
  return revisions?.appearedIn[task] ?? 1;
}

/** All versions of the plan of a run, oldest first; of one that was never revised the only one. */
export function planVersionsOf(run: Run): readonly PlanVersion[] {
  return run.revisions?.versions ?? [firstVersion(run)];
}

/** The version that a run began with. */
export function firstVersion(
  run: Pick<Run, "plan" | "principal" | "startedAtMs" | "begunAtEvent">,
): PlanVersion {
  const { plan, principal, startedAtMs, begunAtEvent } = run;
  return {
    planVersion: 1,
    plan,
    tasks: plan.tasks.map(({ number }) => number),
    reason: "",
    principal,
    createdAtMs: startedAtMs,
    eventNumber: begunAtEvent,
    proposer: undefined,
    leaseVersionBase: 0,
  };
}

/**
 * The version that has a task record no more; 0: the present one has it. A called task, and one that rolls back, goes with the task of a plan that it
 * was called for in the end.
 */
export function supersededIn({ revisions, tasks }: Run, number: number): number {
  if (revisions === undefined) {
    return 0;
  }
  return revisions.supersededIn[ofPlan(tasks, number)] ?? 0;
}

/** True for a task record that a version of the plan has, and for what its code called. */
export function isOfVersion(run: Run, number: number, planVersion: number): boolean {
  const version = run.revisions?.versions[planVersion - 1];
  return version === undefined || version.tasks.includes(ofPlan(run.tasks, number));
}

/** Number of the record that a version of the plan has under a name, or that its code called so; undefined: there is none. */
export function taskOfVersion(run: Run, name: string, planVersion: number): number | undefined {
  const version = planVersionsOf(run)[planVersion - 1];
  const place = version?.plan.byName.get(name);
  if (version === undefined || place !== undefined) {
    return version?.tasks[place ?? -1];
  }
  return run.called.findLast(
    ({ spec }) => spec.name === name && isOfVersion(run, spec.number, planVersion),
  )?.spec.number;
}

/** Number of the task of a plan that this one was called for in the end; its own for one of a plan. */
function ofPlan(tasks: Run["tasks"], number: number): number {
  let at = number;
  for (let task = tasks[at]; task !== undefined; task = tasks[at]) {
    const of = task.caller ?? task.rollsBack;
    if (of === undefined) {
      break;
    }
    at = of;
  }
  return at;
}

/**
 * A plan as the tasks of a run are numbered.
 *
 * @param numbers number of the record of each of its tasks.
 */
export function numberPlan(plan: CompiledPlan, numbers: readonly number[]): CompiledPlan {
  const at = (place: number): number => numbers[place] ?? place;
  const tasks = plan.tasks.map((spec) => ({
    ...spec,
    number: at(spec.number),
    needs: spec.needs.map(at),
    join: spec.join && numberJoin(spec.join, at),
    dependents: spec.dependents.map(at),
  }));
  const byName = new Map(tasks.map(({ name, number }) => [name, number]));
  const output = plan.output === undefined ? undefined : at(plan.output);
  return { bytes: plan.bytes, tasks, byName, output, ranks: plan.ranks && numberRanks(plan, at) };
}

function numberJoin({ atLeast, rules }: JoinSpec, at: (place: number) => number): JoinSpec {
  return { atLeast, rules: new Map([...rules].map(([need, rule]) => [at(need), rule])) };
}

function numberRanks({ ranks = [] }: CompiledPlan, at: (place: number) => number): number[] {
  const byNumber: number[] = [];
  for (const [place, rank] of ranks.entries()) {
    byNumber[at(place)] = rank;
  }
  return byNumber;
}
