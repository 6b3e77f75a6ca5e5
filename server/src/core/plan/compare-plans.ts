import type { OnNeedFailure } from "@pawl/proto/v1/plan_pb.js";
import { equalBytes } from "../identity/content-digest.js";
import { neededCount, needRule } from "./compile-join.js";
import type { CompiledPlan, RetrySpec, TaskSpec } from "./task-spec.js";

/** What may differ between two tasks of one name. The first three are the specification, the others policies. */
export type PlanField =
  | "kind"
  | "input"
  | "needs"
  | "queue"
  | "priority"
  | "retry"
  | "timeouts"
  | "cancel_grace";

/** A task of a plan, held against the one of the same name in another plan. */
export interface TaskComparison {
  /** The task of the later plan. */
  readonly after: TaskSpec;
  /** The one of its name in the earlier; undefined: there is none. */
  readonly before: TaskSpec | undefined;
  /** What differs. */
  readonly fields: readonly PlanField[];
  /** True when it is the same task: kind, input and needs are the same, and so is every task that it needs. */
  readonly isSame: boolean;
}

/** How two plans differ. */
export interface PlanComparison {
  /** Every task of the later plan, in its order. */
  readonly tasks: readonly TaskComparison[];
  /** Tasks of the earlier whose names the later does not have, in the earlier's order. */
  readonly removed: readonly TaskSpec[];
  /** True when nothing differs, policies and the output included. */
  readonly isEqual: boolean;
}

/**
 * Compares two plans, both numbered by place. A task is the same as the one of its name when kind, input and needs are, and every task that it needs is the same: else it
 * would be given other inputs.
 *
 * @param alike names of tasks whose inputs differ in their bytes but are the same JSON document.
 */
export function comparePlans(
  earlier: CompiledPlan,
  later: CompiledPlan,
  alike: ReadonlySet<string>,
): PlanComparison {
  const earlierOf = (after: TaskSpec): TaskSpec | undefined =>
    earlier.tasks[earlier.byName.get(after.name) ?? -1];
  const fields = later.tasks.map((after): PlanField[] => {
    const before = earlierOf(after);
    return before === undefined ? [] : differences({ before, earlier }, { after, later }, alike);
  });
  const other = findOthers(later, (number, { name }) => {
    return !earlier.byName.has(name) || (fields[number] ?? []).some(isOfSpecification);
  });
  for (const number of other.byNeeds) {
    fields[number]?.push("needs");
  }
  const tasks = later.tasks.map((after, number) => ({
    after,
    before: earlierOf(after),
    fields: fields[number] ?? [],
    isSame: !other.all.has(number),
  }));
  const removed = earlier.tasks.filter(({ name }) => !later.byName.has(name));
  const isEqual =
    removed.length === 0 &&
    tasks.every(({ isSame, fields: differing }) => isSame && differing.length === 0) &&
    outputName(earlier) === outputName(later);
  return { tasks, removed, isEqual };
}

/** Name of the task whose output is the run's, in a plan that is numbered by place; empty: there is none. */
export function outputName({ output, tasks }: CompiledPlan): string {
  return output === undefined ? "" : (tasks[output]?.name ?? "");
}

/** True for what makes a task another one. */
function isOfSpecification(field: PlanField): boolean {
  return field === "kind" || field === "input" || field === "needs";
}

/** Every task that is another one: by itself, or since one that it needs is. Each is visited once, each need as well. */
function findOthers(
  plan: CompiledPlan,
  isOther: (number: number, spec: TaskSpec) => boolean,
): { readonly all: ReadonlySet<number>; readonly byNeeds: readonly number[] } {
  const queue = plan.tasks.filter((spec, number) => isOther(number, spec)).map((s) => s.number);
  const all = new Set(queue);
  const byNeeds: number[] = [];
  for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
    for (const dependent of plan.tasks[next]?.dependents ?? []) {
      if (!all.has(dependent)) {
        all.add(dependent);
        byNeeds.push(dependent);
        queue.push(dependent);
      }
    }
  }
  return { all, byNeeds };
}

function differences(
  { before, earlier }: { readonly before: TaskSpec; readonly earlier: CompiledPlan },
  { after, later }: { readonly after: TaskSpec; readonly later: CompiledPlan },
  alike: ReadonlySet<string>,
): PlanField[] {
  const fields: PlanField[] = [];
  const note = (field: PlanField, isSame: boolean): void => {
    if (!isSame) {
      fields.push(field);
    }
  };
  note("kind", before.kind === after.kind);
  note("input", sameInput(before.input, after.input) || alike.has(after.name));
  note("needs", sameNeeds({ spec: before, plan: earlier }, { spec: after, plan: later }));
  note("queue", before.queue === after.queue);
  note("priority", before.priority === after.priority);
  note("retry", sameRetry(before.retry, after.retry));
  note(
    "timeouts",
    before.scheduleToStartMs === after.scheduleToStartMs &&
      before.startToCloseMs === after.startToCloseMs &&
      before.scheduleToCloseMs === after.scheduleToCloseMs &&
      before.leaseMs === after.leaseMs,
  );
  note("cancel_grace", before.cancelGraceMs === after.cancelGraceMs);
  return fields;
}

function sameInput(before: Uint8Array | undefined, after: Uint8Array | undefined): boolean {
  return before === undefined || after === undefined ? before === after : equalBytes(before, after);
}

interface Placed {
  readonly spec: TaskSpec;
  readonly plan: CompiledPlan;
}

/**
 * Whether two tasks need the same, by name, and their joins say the same of each need. The order in which a plan names them is of no weight. All that a need says is compared
 * here, and nowhere else.
 */
function sameNeeds(before: Placed, after: Placed): boolean {
  const rules = ({ spec, plan }: Placed): Map<string, OnNeedFailure> =>
    new Map(spec.needs.map((need) => [plan.tasks[need]?.name ?? "", needRule(spec, need)]));
  const [was, is] = [rules(before), rules(after)];
  return (
    was.size === is.size &&
    [...was].every(([name, rule]) => is.get(name) === rule) &&
    neededCount(before.spec) === neededCount(after.spec)
  );
}

function sameRetry(before: RetrySpec, after: RetrySpec): boolean {
  return (
    before.attemptsMax === after.attemptsMax &&
    before.initialMs === after.initialMs &&
    before.coefficient === after.coefficient &&
    before.intervalMsMax === after.intervalMsMax &&
    before.jitter === after.jitter &&
    before.asksWhenExhausted === after.asksWhenExhausted &&
    before.workerLossesMax === after.workerLossesMax &&
    before.nonRetryable.size === after.nonRetryable.size &&
    [...before.nonRetryable].every((word) => after.nonRetryable.has(word))
  );
}
