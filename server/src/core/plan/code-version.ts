import { decodePlan, encodePlan } from "@pawl/proto/v1/plan_wire.js";
import { VersionMode } from "@pawl/proto/v1/version_pb.js";
import type { Run, Task } from "../state.js";
import type { CompiledPlan, TaskSpec } from "./task-spec.js";

/** The greatest version of a workflow's code. */
export const codeVersionMax = 1_000_000;

/** Longest name of a workflow that has versions, in bytes, so that its kinds are ids. */
export const versionedNameBytesMax = 192;

/** The kind that stands for a workflow at its current version, in the plan of a start that asks for it. */
export function currentKind(workflow: string): string {
  return `${workflow}@current`;
}

/** The kind of a workflow at one version. */
export function kindAt(workflow: string, codeVersion: number): string {
  return `${workflow}@${codeVersion}`;
}

/** Name and version of a kind that is a workflow at a version; undefined when it is none. */
export function splitKind(
  kind: string,
): { readonly workflow: string; readonly codeVersion: number } | undefined {
  const at = kind.lastIndexOf("@");
  const digits = kind.slice(at + 1);
  if (at < 1 || !/^[1-9]\d{0,6}$/.test(digits)) {
    return undefined;
  }
  const codeVersion = Number(digits);
  return codeVersion > codeVersionMax ? undefined : { workflow: kind.slice(0, at), codeVersion };
}

/** True for a task whose code is the one that is current whenever a worker takes it. */
export function followsCurrent(
  run: Pick<Run, "codeVersion" | "workflow">,
  spec: Pick<TaskSpec, "kind">,
): boolean {
  return (
    run.codeVersion?.mode === VersionMode.FOLLOW && spec.kind === currentKind(run.workflow) // Most runs end at the first comparison.
  );
}

/** What a worker must serve for the attempt that a task is in: for one that follows, the version under which it was taken last. */
export function attemptKind(
  run: Pick<Run, "codeVersion" | "workflow">,
  { codeVersion }: Pick<Task, "codeVersion">,
  spec: Pick<TaskSpec, "kind">,
): string {
  return codeVersion > 0 && followsCurrent(run, spec)
    ? kindAt(run.workflow, codeVersion)
    : spec.kind;
}

/**
 * The kind by which a task is queued: those that follow have a queue of their own, which whoever serves the current version serves as well. Ids hold no NUL,
 * so that nobody else's kind is the same.
 */
export function queuedKind(
  run: Pick<Run, "codeVersion" | "workflow">,
  spec: Pick<TaskSpec, "kind">,
): string {
  return followsCurrent(run, spec) ? followingKind(spec.kind) : spec.kind;
}

/** See `queuedKind`. */
export function followingKind(kind: string): string {
  return `${kind}\0`;
}

/** True when a plan has a task of the current version of its workflow. */
export function namesCurrent({ tasks }: CompiledPlan, workflow: string): boolean {
  const current = currentKind(workflow);
  return tasks.some(({ kind }) => kind === current);
}

/** A plan in which the tasks of the current version are of that version. */
export function planAt(plan: Uint8Array, workflow: string, codeVersion: number): Uint8Array {
  const current = currentKind(workflow);
  const kind = kindAt(workflow, codeVersion);
  const shape = decodePlan(plan);
  return encodePlan({
    ...shape,
    tasks: shape.tasks.map((task) => (task.kind === current ? { ...task, kind } : task)),
  });
}
