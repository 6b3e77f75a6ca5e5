import { fromBinary, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { type Plan, PlanSchema, type PlanTask } from "@pawl/proto/v1/plan_pb.js";
import {
  PlanTaskChange,
  type PlanTaskDiffSchema,
  type PlanVersionSchema,
  type RevisedTaskSchema,
  TaskRevision,
} from "@pawl/proto/v1/plan_version_pb.js";
import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { comparePlans, type TaskComparison } from "../../core/plan/compare-plans.js";
import type { PlanVersion } from "../../core/plan/plan-versions.js";
import type { RevisedTask } from "../../core/plan/revised-plan.js";

const revisions: Readonly<Record<RevisedTask["revision"], TaskRevision>> = {
  reused: TaskRevision.REUSED,
  kept: TaskRevision.KEPT,
  superseded: TaskRevision.SUPERSEDED,
  added: TaskRevision.ADDED,
};

/** `pawl.v1.RevisedTask` of what a revision does to a task record. */
export function revisedTaskView({
  name,
  revision,
  fields,
  status,
  number,
  succeeded,
}: RevisedTask): MessageInitShape<typeof RevisedTaskSchema> {
  return {
    name,
    revision: revisions[revision],
    fields: [...fields],
    status: status ?? TaskStatus.UNSPECIFIED,
    number,
    succeeded,
  };
}

/** What is said of a version besides what is in the state. */
export interface PlanVersionParts {
  readonly digest: Uint8Array;
  readonly specificationDigest: Uint8Array;
  readonly proposedBy: string;
  readonly isPresent: boolean;
}

/** `pawl.v1.PlanVersion` of a version of a plan. */
export function planVersionView(
  version: PlanVersion,
  { isPresent, ...parts }: PlanVersionParts,
): MessageInitShape<typeof PlanVersionSchema> {
  const { planVersion, reason, principal, createdAtMs, eventNumber, tasks } = version;
  return {
    ...{ planVersion, reason, principal, eventNumber, ...parts },
    createdAt: timestampFromMs(createdAtMs),
    taskCount: tasks.length,
    present: isPresent,
  };
}

/** The plan of a version as it was received. */
export function planOf({ plan }: PlanVersion): Plan {
  return fromBinary(PlanSchema, plan.bytes);
}

/** How the tasks of two versions of one plan differ. A task is the same when it is the same record in both, whatever was between them. */
export function diffView(
  from: PlanVersion,
  to: PlanVersion,
  alike: ReadonlySet<string>,
): MessageInitShape<typeof PlanTaskDiffSchema>[] {
  const [before, after] = [planOf(from).tasks, planOf(to).tasks];
  const { tasks, removed } = comparePlans(from.plan, to.plan, alike);
  const present = tasks.map((comparison) => {
    const was = comparison.before;
    const isSame =
      was !== undefined && from.tasks[was.number] === to.tasks[comparison.after.number];
    return {
      name: comparison.after.name,
      ...changeOf(comparison, isSame),
      ...taskOf("before", was && before[was.number]),
      ...taskOf("after", after[comparison.after.number]),
    };
  });
  const gone = removed.map(({ name, number }) => ({
    name,
    change: PlanTaskChange.REMOVED,
    fields: [],
    ...taskOf("before", before[number]),
  }));
  return [...present, ...gone];
}

function changeOf(
  { before, fields }: TaskComparison,
  isSame: boolean,
): { readonly change: PlanTaskChange; readonly fields: string[] } {
  if (before === undefined) {
    return { change: PlanTaskChange.ADDED, fields: [] };
  }
  if (!isSame) {
    const words = fields.length === 0 ? ["since"] : [...fields];
    return { change: PlanTaskChange.CHANGED, fields: words };
  }
  const change = fields.length === 0 ? PlanTaskChange.UNCHANGED : PlanTaskChange.POLICY;
  return { change, fields: [...fields] };
}

function taskOf<K extends "before" | "after">(
  side: K,
  task: PlanTask | undefined,
): { readonly [Key in K]?: PlanTask } {
  return task === undefined ? {} : ({ [side]: task } as { readonly [Key in K]: PlanTask });
}
