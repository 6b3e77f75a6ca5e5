import { limits } from "../limits.js";
import { presentPlanVersion, supersededIn } from "../plan/plan-versions.js";
import type { RevisedPlan } from "../plan/revised-plan.js";
import type { CompiledPlan } from "../plan/task-spec.js";
import { illegalTransition, invalidField, type Rejection } from "../rejection.js";
import type { Run } from "../state.js";
import { runStatusName } from "../transitions.js";
import type { FoundTask } from "./find.js";

/** The refusal of a revision of a run that has ended. */
export function overForRevision(run: Run): Rejection {
  const status = runStatusName(run.status);
  return illegalTransition(
    "PAWL_RUN_OVER",
    { entity: "run", status, command: "RevisePlan", legal: [] },
    `Expected run "${run.runId}" to be open for a revision of its plan, but it is ${status}. Nothing was changed. Next: retry what failed of it (run.retry() of the SDK, RetryRun), or start another run with the new plan.`,
  );
}

/** Why a revision is refused, in order: asked to stop, a name that a called task has, more versions or tasks than a run may have, the proposing task changed. */
export function refuseRevision(
  run: Run,
  plan: CompiledPlan,
  revised: RevisedPlan,
  found: FoundTask | undefined,
): Rejection | undefined {
  if (run.cancelRequestedAtMs !== 0) {
    return illegalTransition("PAWL_ILLEGAL_TRANSITION", {
      entity: "run",
      status: `${runStatusName(run.status)}, asked to stop`,
      command: "RevisePlan",
      legal: ["wait until it has ended"],
    });
  }
  return (
    refuseNames(run, plan, revised) ??
    refuseSize(run, plan, revised) ??
    (found === undefined ? undefined : refuseOwnChange(run, revised, found))
  );
}

/** A called task of a caller that stays has its name already. */
function refuseNames(run: Run, plan: CompiledPlan, revised: RevisedPlan): Rejection | undefined {
  const gone = new Set(
    revised.tasks.filter((task) => task.revision === "superseded").map(({ number }) => number),
  );
  const taken = plan.tasks.find(({ name }) => {
    const number = run.calledByName.get(name);
    return (
      number !== undefined && supersededIn(run, number) === 0 && !gone.has(rootOf(run, number))
    );
  });
  return taken === undefined
    ? undefined
    : invalidField(
        `plan.tasks[${taken.number}].name`,
        "another name than a called task of the run has",
        `"${taken.name}"`,
      );
}

function rootOf(run: Run, number: number): number {
  const task = run.tasks[number];
  const of = task?.caller ?? task?.rollsBack;
  return of === undefined ? number : rootOf(run, of);
}

function refuseSize(run: Run, plan: CompiledPlan, revised: RevisedPlan): Rejection | undefined {
  if (revised.isEqual) {
    return undefined;
  }
  if (presentPlanVersion(run) >= limits.planVersionsMax) {
    return tooMany(`${limits.planVersionsMax} versions of the plan of a run`);
  }
  const bytes = (run.revisions?.versions ?? []).reduce(
    (sum, version) => sum + version.plan.bytes.length,
    plan.bytes.length,
  );
  if (bytes > limits.planVersionBytesMax) {
    return tooMany(`${limits.planVersionBytesMax} bytes of all versions of the plan of a run`);
  }
  const tasks = run.tasks.length - run.called.length;
  const added = revised.tasks.filter(({ revision }) => revision === "added").length;
  return tasks + added > limits.planTasksInAllMax
    ? tooMany(`${limits.planTasksInAllMax} tasks in all versions of the plan of a run`)
    : undefined;
}

function tooMany(bound: string): Rejection {
  return illegalTransition(
    "PAWL_TOO_LARGE",
    { entity: "run", status: "RUNNING", command: "RevisePlan", legal: ["start another run"] },
    `Expected at most ${bound}, but this revision would exceed that. Next: start a run with the new plan.`,
  );
}

/** Whoever changed itself could neither go on nor tell of it. */
function refuseOwnChange(
  run: Run,
  revised: RevisedPlan,
  { task, spec }: FoundTask,
): Rejection | undefined {
  const own = rootOf(run, task.number);
  const change = revised.tasks.find(
    ({ number, revision }) => number === own && revision === "superseded",
  );
  if (change === undefined) {
    return undefined;
  }
  const how = change.succeeded ? `another ${change.fields.join(", ")}` : "no such task";
  return illegalTransition(
    "PAWL_ILLEGAL_TRANSITION",
    {
      entity: "task",
      status: "LEASED",
      command: "RevisePlan",
      legal: ["propose a plan that leaves this task, and what it needs, as it is"],
    },
    `Expected task "${spec.name}" to propose a plan in which it stays as it is, but the plan has ${how} for "${change.name}". Next: leave the proposing task as it is; a person can change it (pawl plan revise).`,
  );
}
