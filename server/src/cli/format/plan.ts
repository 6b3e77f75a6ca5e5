import type { Plan } from "@pawl/proto/v1/plan_pb.js";
import {
  PlanTaskChange,
  PlanTaskChangeSchema,
  type PlanTaskDiff,
  type PlanVersion,
  type RevisedTask,
  TaskRevision,
  TaskRevisionSchema,
} from "@pawl/proto/v1/plan_version_pb.js";
import { TaskStatusSchema } from "@pawl/proto/v1/run_pb.js";
import { enumCell, enumWord } from "./enum-word.js";
import { joinWords, ruleWord } from "./plan-graph.js";
import { principalName } from "./principal.js";
import type { Cell } from "./table.js";
import { count } from "./text.js";
import { type Clock, formatTime } from "./time.js";

/** Headings and rows of the tasks of a plan. */
export function planTable(plan: Plan): readonly [readonly string[], readonly (readonly Cell[])[]] {
  const rows = plan.tasks.map((task) => {
    const needs = task.needs.map((need) => {
      const rule = ruleWord(task, need);
      return rule === "skip" ? need : `${need} (${rule})`;
    });
    return [
      task.name,
      task.kind,
      task.queue,
      needs.join(", "),
      joinWords(task),
      task.name === plan.output ? "yes" : "",
    ];
  });
  return [["TASK", "KIND", "QUEUE", "NEEDS", "JOIN", "OUTPUT"], rows];
}

/** Headings and rows of the versions of a plan. */
export function versionTable(
  versions: readonly PlanVersion[],
  clock: Clock,
): readonly [readonly string[], readonly (readonly Cell[])[]] {
  const rows = versions.map((version) => [
    `${version.planVersion}${version.present ? " (present)" : ""}`,
    `${version.taskCount}`,
    formatTime(version.createdAt, clock),
    version.proposedBy === "" ? principalName(version.principal) : `task ${version.proposedBy}`,
    Buffer.from(version.digest).toString("hex").slice(0, 12),
    version.reason,
  ]);
  return [["VERSION", "TASKS", "MADE", "BY", "HASH", "REASON"], rows];
}

const revisions = [
  [TaskRevision.REUSED, "reused"],
  [TaskRevision.KEPT, "kept"],
  [TaskRevision.SUPERSEDED, "superseded"],
  [TaskRevision.ADDED, "added"],
] as const;

/** How many tasks a revision reuses, keeps, supersedes and adds, in words. */
export function countRevised(tasks: readonly RevisedTask[]): string {
  const words = revisions.flatMap(([revision, word]) => {
    const found = tasks.filter((task) => task.revision === revision).length;
    return found === 0 ? [] : [`${count(found, "task")} ${word}`];
  });
  return words.length === 0 ? "no task" : words.join(", ");
}

/** Headings and rows of what a revision does to each task. */
export function revisedTable(
  tasks: readonly RevisedTask[],
): readonly [readonly string[], readonly (readonly Cell[])[]] {
  const rows = tasks.map((task) => [
    task.name,
    enumWord(TaskRevisionSchema, task.revision),
    task.status === 0 ? "" : enumCell(TaskStatusSchema, task.status),
    [...task.fields, ...(task.succeeded ? ["another record takes its place"] : [])].join(", "),
  ]);
  return [["TASK", "BECOMES", "WAS", "WHAT DIFFERS"], rows];
}

const changes = [
  [PlanTaskChange.CHANGED, "changed"],
  [PlanTaskChange.POLICY, "with another policy"],
  [PlanTaskChange.ADDED, "added"],
  [PlanTaskChange.REMOVED, "removed"],
  [PlanTaskChange.UNCHANGED, "unchanged"],
] as const;

/** How many tasks differ between two plans, in words. */
export function countChanged(tasks: readonly PlanTaskDiff[]): string {
  const words = changes.flatMap(([change, word]) => {
    const found = tasks.filter((task) => task.change === change).length;
    return found === 0 ? [] : [`${count(found, "task")} ${word}`];
  });
  return words.join(", ");
}

/** Headings and rows of the tasks that differ. */
export function changedTable(
  tasks: readonly PlanTaskDiff[],
): readonly [readonly string[], readonly (readonly Cell[])[]] {
  const rows = tasks
    .filter(({ change }) => change !== PlanTaskChange.UNCHANGED)
    .map(({ name, change, fields }) => [
      name,
      enumWord(PlanTaskChangeSchema, change),
      fields.join(", "),
    ]);
  return [["TASK", "CHANGE", "WHAT DIFFERS"], rows];
}
