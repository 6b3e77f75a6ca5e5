import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { VersionMode } from "@pawl/proto/v1/version_pb.js";
import { specOf } from "../plan/change-spec.js";
import { currentKind, followsCurrent, kindAt } from "../plan/code-version.js";
import type { Run, Task } from "../state.js";
import { breaches, type Rule, type Violation } from "./violation.js";

/** Violations of which version of its workflow's code a run goes by. */
export function findVersionViolations(run: Run): Violation[] {
  const { codeVersion } = run;
  const ofRun = codeVersion === undefined ? [] : breaches("run", rulesOfRun(run, codeVersion));
  return [
    ...ofRun,
    ...run.tasks.flatMap((task) => breaches(`task ${task.number}`, rulesOfTask(run, task))),
  ];
}

function rulesOfRun(
  { plan, workflow, revisions }: Run,
  { mode, version }: NonNullable<Run["codeVersion"]>,
): Rule[] {
  const isFollowing = mode === VersionMode.FOLLOW;
  const kind = isFollowing ? currentKind(workflow) : kindAt(workflow, version);
  return [
    [isFollowing || mode === VersionMode.PINNED, "pinned, or following", `mode ${mode}`],
    [isFollowing === (version === 0), "a version exactly when it is pinned", `${version}`],
    [
      revisions !== undefined || plan.tasks.some((task) => task.kind === kind),
      `a task of kind "${kind}" in its first plan`,
      "there is none",
    ],
  ];
}

function rulesOfTask(run: Run, task: Task): Rule[] {
  const spec = specOf(run, task.number);
  const isFollowing = spec !== undefined && followsCurrent(run, spec);
  const { codeVersion, status } = task;
  return [
    [isFollowing || codeVersion === 0, "no version unless it follows", `${codeVersion}`],
    [
      !isFollowing || status !== TaskStatus.LEASED || codeVersion > 0,
      "a version while it follows and is LEASED",
      "there is none",
    ],
  ];
}
