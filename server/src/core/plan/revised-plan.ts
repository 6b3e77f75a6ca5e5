import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import type { Run } from "../state.js";
import { comparePlans, type PlanField } from "./compare-plans.js";
import { type PlanVersion, presentPlan, presentPlanVersion } from "./plan-versions.js";
import type { CompiledPlan } from "./task-spec.js";

/** What a revision does to one task record. */
export interface RevisedTask {
  readonly name: string;
  /** `superseded` for one that changed or was removed; one of the same name that takes its place is `added`. */
  readonly revision: "reused" | "kept" | "superseded" | "added";
  readonly fields: readonly PlanField[];
  /** Where it stood before; undefined for one that is added. */
  readonly status: TaskStatus | undefined;
  readonly number: number;
  /** True when another record of its name takes its place. */
  readonly succeeded: boolean;
}

/** What a revision does to the tasks of a run. */
export interface RevisedPlan {
  /** The version that the plan has from then on. */
  readonly planVersion: number;
  /** Number of the record that stands for each task of the plan. */
  readonly numbers: readonly number[];
  /** Each record of the plan before, in its order, then those that are added, in the order of the new plan. */
  readonly tasks: readonly RevisedTask[];
  /** True when nothing differs: there is no new version. */
  readonly isEqual: boolean;
}

/**
 * What a revision to this plan would do now. Every record of the present plan, and every one that is added, comes once.
 *
 * @param plan numbered by place.
 * @param alike names of tasks whose inputs differ in their bytes but are the same JSON document.
 */
export function reviseTo(run: Run, plan: CompiledPlan, alike: ReadonlySet<string>): RevisedPlan {
  const present = presentPlan(run);
  const numberOf = (place: number): number => run.revisions?.versions.at(-1)?.tasks[place] ?? place;
  const { tasks, removed, isEqual } = comparePlans(present, plan, alike);
  const before: RevisedTask[] = [];
  const added: RevisedTask[] = [];
  let next = run.tasks.length;
  const numbers = tasks.map(({ after, before: was, fields, isSame }) => {
    const { name } = after;
    const number = was === undefined ? -1 : numberOf(was.number);
    const status = run.tasks[number]?.status;
    if (isSame) {
      const revision = status === TaskStatus.COMPLETED ? "reused" : "kept";
      before.push({ name, revision, fields, status, number, succeeded: false });
      return number;
    }
    if (was !== undefined) {
      before.push({ name, revision: "superseded", fields, status, number, succeeded: true });
    }
    added.push(addedTask(name, next));
    return next++;
  });
  for (const { name, number: place } of removed) {
    const number = numberOf(place);
    const status = run.tasks[number]?.status;
    before.push({ name, revision: "superseded", fields: [], status, number, succeeded: false });
  }
  before.sort((one, other) => one.number - other.number);
  return {
    planVersion: presentPlanVersion(run) + (isEqual ? 0 : 1),
    numbers,
    tasks: [...before, ...added],
    isEqual,
  };
}

/** What the revision to a version that was recorded did: whether a record was reused or kept is told by when it was completed. */
export function revisionOf(run: Run, version: PlanVersion): RevisedPlan {
  const { planVersion, tasks: numbers, plan, createdAtMs } = version;
  const earlier = run.revisions?.versions[planVersion - 2];
  const present = new Set(numbers);
  const known = new Set(earlier?.tasks ?? []);
  const fields = comparePlans(earlier?.plan ?? plan, plan, new Set()).tasks;
  const before = (earlier?.tasks ?? []).map((number, place): RevisedTask => {
    const name = earlier?.plan.tasks[place]?.name ?? "";
    const later = plan.byName.get(name);
    const differing = later === undefined ? [] : (fields[later]?.fields ?? []);
    const task = run.tasks[number];
    if (!present.has(number)) {
      const succeeded = later !== undefined;
      const status = task?.status;
      return { name, revision: "superseded", fields: differing, status, number, succeeded };
    }
    const wasDone = task?.status === TaskStatus.COMPLETED && task.closedAtMs <= createdAtMs;
    const revision = wasDone ? "reused" : "kept";
    return { name, revision, fields: differing, status: task?.status, number, succeeded: false };
  });
  const added = numbers
    .map((number, place) => addedTask(plan.tasks[place]?.name ?? "", number))
    .filter(({ number }) => !known.has(number));
  return { planVersion, numbers, tasks: [...before, ...added], isEqual: false };
}

function addedTask(name: string, number: number): RevisedTask {
  const status = undefined;
  return { name, revision: "added", fields: [], status, number, succeeded: false };
}
