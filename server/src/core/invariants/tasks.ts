import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { equalBytes } from "../identity/content-digest.js";
import { mustStop } from "../lease-standing.js";
import { specOf } from "../plan/change-spec.js";
import type { TaskSpec } from "../plan/task-spec.js";
import { type Run, type Step, stepIdentity, type Task } from "../state.js";
import { isRunOpen, isTaskClosed, taskStatusName } from "../transitions.js";
import { rulesOfJoin } from "./joins.js";
import { breaches, type Rule, type Violation, violation } from "./violation.js";

/** Violations of tasks and of what the run counts about them. */
export function findTaskViolations(run: Run): Violation[] {
  const known = run.revisions?.specs.length ?? run.plan.tasks.length + run.called.length;
  if (run.tasks.length !== known) {
    return [violation("run", `${known} tasks, as planned and called`, `${run.tasks.length}`)];
  }
  const open = run.tasks.filter((task) => !isTaskClosed(task.status)).length;
  const failed = run.tasks.filter(
    ({ status, caller, number, dropped }) =>
      isFailure(status) && caller === undefined && dropped === 0 && !isOfEarlierPlans(run, number),
  ).length;
  return [
    ...breaches("run", [
      [run.openTasks === open, `openTasks ${open}`, `${run.openTasks}`],
      [run.failedTasks === failed, `failedTasks ${failed}`, `${run.failedTasks}`],
    ]),
    ...run.tasks.flatMap((task, number) => {
      const spec = specOf(run, number);
      return spec === undefined ? [] : breaches(`task ${number}`, rulesOfTask(run, task, spec));
    }),
  ];
}

function isFailure(status: TaskStatus): boolean {
  return status === TaskStatus.FAILED || status === TaskStatus.SKIPPED;
}

function rulesOfTask(run: Run, task: Task, spec: TaskSpec): Rule[] {
  return [
    [task.number === spec.number, `number ${spec.number}`, `${task.number}`],
    ...rulesOfOpen(run, task, spec),
    ...rulesOfVersion(run, task),
    ...rulesOfLease(run, task),
    ...rulesOfAttempts(task, spec),
    ...rulesOfTimes(task),
    ...rulesOfReview(run, task),
  ];
}

/** True for a task that a revision superseded itself, and not only who called it. */
function isOfEarlierPlans({ revisions }: Run, number: number): boolean {
  return (revisions?.supersededIn[number] ?? 0) > 0;
}

/** What holds of what it still waits for. */
function rulesOfOpen(run: Run, task: Task, spec: TaskSpec): Rule[] {
  if (isOfEarlierPlans(run, task.number)) {
    const isIdle = task.openNeeds === 0 && task.spareNeeds === 0;
    return [[isIdle, "no open need when superseded", `${task.openNeeds}`]];
  }
  return run.plan.ranks === undefined
    ? rulesOfNeeds(run, task, spec)
    : rulesOfJoin(run, task, spec);
}

function rulesOfNeeds(run: Run, task: Task, spec: TaskSpec): Rule[] {
  const needed = spec.needs.map((number) => run.tasks[number]?.status);
  const open = needed.filter((need) => need !== TaskStatus.COMPLETED).length;
  const hasFailed = needed.some((need) => need !== undefined && isFailure(need));
  const wasReady = task.firstReadyAtMs !== 0;
  const status = taskStatusName(task.status);
  return [
    [task.openNeeds === open, `openNeeds ${open}`, `${task.openNeeds}`],
    [!wasReady || open === 0, "every need COMPLETED before it was READY", `${open} are not`],
    [
      task.status !== TaskStatus.BLOCKED || (open > 0 && !hasFailed && !wasReady),
      "an open need, and none that failed, while it is BLOCKED",
      `${open} open`,
    ],
    [
      task.status !== TaskStatus.SKIPPED || (hasFailed && !wasReady),
      "a failed need when it is SKIPPED",
      "there is none",
    ],
    [
      wasReady ||
        task.status === TaskStatus.BLOCKED ||
        task.status === TaskStatus.SKIPPED ||
        task.status === TaskStatus.CANCELLED,
      "a time when it first was READY",
      `it is ${status} without one`,
    ],
    [
      task.status === TaskStatus.BLOCKED || open === 0 || task.version > 0,
      "a version above 0",
      `${task.version}`,
    ],
  ];
}

/** What holds of how often it changed, however it was reached. */
function rulesOfVersion(run: Run, task: Task): Rule[] {
  const events = run.eventCount - run.begunAtEvent;
  return [
    [
      task.version <= events,
      `at most as many versions as the ${events} events since its run began`,
      `${task.version}`,
    ],
  ];
}

function rulesOfLease(run: Run, task: Task): Rule[] {
  const isLeased = task.status === TaskStatus.LEASED;
  return [
    [isLeased === (task.sessionId !== ""), "a session exactly while LEASED", `"${task.sessionId}"`],
    [
      !isLeased || (isRunOpen(run.status) && task.leaseVersion > 0),
      "an open run and a lease version while LEASED",
      `${task.leaseVersion}`,
    ],
    [
      !isLeased || task.leasedAtMs >= task.readyAtMs,
      "a lease after it was READY",
      `${task.leasedAtMs}`,
    ],
    [
      task.reportedLeaseVersion <= task.leaseVersion,
      `reports up to lease ${task.leaseVersion}`,
      `${task.reportedLeaseVersion}`,
    ],
    [
      task.status !== TaskStatus.COMPLETED ||
        task.endedByPerson ||
        (task.reportedLeaseVersion === task.leaseVersion && task.leaseVersion > 0),
      "a report of its last lease when COMPLETED",
      `${task.reportedLeaseVersion} of ${task.leaseVersion}`,
    ],
    [
      !mustStop(run, task) || isLeased || isTaskClosed(task.status),
      "nothing open but leases, and what rolls back, after cancellation was requested",
      taskStatusName(task.status),
    ],
  ];
}

function rulesOfAttempts(task: Task, spec: TaskSpec): Rule[] {
  const isLeased = task.status === TaskStatus.LEASED;
  const attemptsMax = spec.retry.attemptsMax + (task.trouble?.forgivenAttempts ?? 0);
  return [
    [
      task.attempt <= task.leaseVersion,
      "no more attempts than leases",
      `${task.attempt} of ${task.leaseVersion}`,
    ],
    [
      task.usedAttempts <= task.attempt,
      "no more used attempts than attempts",
      `${task.usedAttempts} of ${task.attempt}`,
    ],
    [
      task.attempt <= task.usedAttempts + 1,
      "at most one attempt that is not used",
      `${task.attempt}, ${task.usedAttempts} used`,
    ],
    [
      !isLeased || task.attempt === task.usedAttempts + 1,
      "the attempt after the used ones",
      `${task.attempt}, ${task.usedAttempts} used`,
    ],
    [task.attempt <= attemptsMax, `at most ${attemptsMax} attempts`, `${task.attempt}`],
    [
      isTaskClosed(task.status) ||
        task.status === TaskStatus.NEEDS_REVIEW ||
        task.usedAttempts < attemptsMax,
      "an attempt left while it is open and waits for no person",
      `${task.usedAttempts} used`,
    ],
    [
      task.status !== TaskStatus.FAILED || task.failure !== undefined,
      "a failure when FAILED",
      "there is none",
    ],
  ];
}

function rulesOfTimes(task: Task): Rule[] {
  const isBackoff = task.status === TaskStatus.BACKOFF;
  return [
    [
      isTaskClosed(task.status) === (task.closedAtMs !== 0),
      "closedAtMs exactly when it ended",
      `${task.closedAtMs}`,
    ],
    [
      task.readyAtMs >= task.firstReadyAtMs,
      "READY again after it first was",
      `${task.readyAtMs} before ${task.firstReadyAtMs}`,
    ],
    [
      !isBackoff || (Number.isFinite(task.dueAtMs) && task.dueAtMs > 0),
      "a time for the next attempt",
      `${task.dueAtMs}`,
    ],
  ];
}

function rulesOfReview(run: Run, task: Task): Rule[] {
  if (task.status !== TaskStatus.NEEDS_REVIEW) {
    return [];
  }
  const waits = run.reviews.filter(
    (review) => review.resolvedAtMs === 0 && review.waitingTasks.includes(task.number),
  );
  return [[waits.length === 1, "exactly one open review that it waits for", `${waits.length}`]];
}

/** Violations of steps and their index. */
export function findStepViolations(run: Run): Violation[] {
  const present = run.steps.filter(({ dropped }) => dropped === 0);
  const index = breaches("run", [
    [
      run.stepsByIdentity.size === present.length,
      `${present.length} steps in the index`,
      `${run.stepsByIdentity.size}`,
    ],
  ]);
  return [
    ...index,
    ...run.steps.flatMap((step, number) => {
      const before = run.steps[number - 1]?.eventNumber ?? 0;
      return breaches(`step ${number}`, [
        [step.number === number, `number ${number}`, `${step.number}`],
        [run.tasks[step.task] !== undefined, "a task of the run", `${step.task}`],
        [
          (run.stepsByIdentity.get(stepIdentity(step.task, step.name, step.key)) === number) ===
            (step.dropped === 0),
          "its number in the index",
          step.name,
        ],
        [
          step.eventNumber > before && step.eventNumber <= run.eventCount,
          "its event after the step before it",
          `${step.eventNumber}`,
        ],
        [step.dropped <= run.generation, "a generation of the run", `${step.dropped}`],
        ...(step.dropped === 0 ? rulesOfMessage(run, step) : []),
      ]);
    }),
  ];
}

const none = new Uint8Array(0);

/** What holds of a step that publishes its value or answers an update. */
function rulesOfMessage(
  run: Run,
  { number, publishes, answers, attempt, value, failure }: Step,
): Rule[] {
  const last = publishes === undefined ? undefined : run.published.get(publishes);
  const update = run.signals[answers ?? -1];
  return [
    [publishes === undefined || value !== undefined, "a value when it is published", "none"],
    [(publishes !== undefined) === attempt > 0, "an attempt when it is published", `${attempt}`],
    [
      publishes === undefined || (last !== undefined && last.step >= number),
      "its place or a later one under its name",
      `${last?.step}`,
    ],
    [
      answers === undefined ||
        (update?.answer !== undefined &&
          (update.answer.refused === undefined) === (failure === undefined) &&
          (update.answer.result === undefined) === (value === undefined) &&
          equalBytes(update.answer.result ?? none, value ?? none)),
      "the update that it answers to say so",
      `${answers}`,
    ],
  ];
}

/** Violations of what is published. */
export function findPublicationViolations(run: Run): Violation[] {
  const bytes = [...run.published.values()].reduce(
    (sum, { step }) => sum + (run.steps[step]?.value?.length ?? 0),
    0,
  );
  return breaches("run", [
    [run.publishedBytes === bytes, `${bytes} bytes published`, `${run.publishedBytes}`],
    ...[...run.published].map(
      ([name, { step, version }]): Rule => [
        run.steps[step]?.publishes === name &&
          run.steps.filter(({ publishes, dropped }) => publishes === name && dropped === 0)
            .length === version,
        `"${name}" to be the last of ${version}`,
        `step ${step}`,
      ],
    ),
  ]);
}
