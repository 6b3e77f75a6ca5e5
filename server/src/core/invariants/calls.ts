import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { endsWithCaller } from "../left-calls.js";
import { supersededIn } from "../plan/plan-versions.js";
import { calledTask } from "../plan/tasks-of-run.js";
import type { CalledTask, Run, Task } from "../state.js";
import { isTaskClosed, taskStatusName } from "../transitions.js";
import { breaches, type Rule, type Violation } from "./violation.js";

/** Violations of what tasks called, and of what finds it. */
export function findCallViolations(run: Run): Violation[] {
  const { called, calledByName, endedCallers } = run;
  const left = run.tasks.filter(({ calls, status }) => isTaskClosed(status) && calls?.open.size);
  const present = new Set(
    called.filter(({ spec }) => run.tasks[spec.number]?.dropped === 0).map(({ spec }) => spec.name),
  );
  return [
    ...breaches("run", [
      [
        calledByName.size === present.size,
        `${present.size} names of called tasks in the index`,
        `${calledByName.size}`,
      ],
      [
        endedCallers.size === left.length && left.every(({ number }) => endedCallers.has(number)),
        `ended callers ${left.map(({ number }) => number)}`,
        `${[...endedCallers]}`,
      ],
    ]),
    ...run.tasks.flatMap((task) =>
      breaches(`task ${task.number}`, [
        ...rulesOfBirth(run, task),
        ...rulesOfDeclared(run, task),
        ...rulesOfLeaving(task),
        ...rulesOfCaller(run, task),
      ]),
    ),
  ];
}

function rulesOfBirth(run: Run, task: Task): Rule[] {
  if (task.dropped !== 0) {
    return rulesOfDropped(run, task);
  }
  return task.rollsBack === undefined ? rulesOfCalled(run, task) : rulesOfRollback(run, task);
}

/** A task that is no longer of the run. */
function rulesOfDropped(run: Run, { number, dropped, status }: Task): Rule[] {
  const name = calledTask(run, number)?.spec.name ?? "";
  return [
    [isTaskClosed(status), "an end when it is no longer of the run", taskStatusName(status)],
    [run.calledByName.get(name) !== number, "no place in the index", name],
    [dropped <= run.generation, "a generation of the run", `${dropped}`],
  ];
}

function rulesOfCalled(run: Run, task: Task): Rule[] {
  const called = calledTask(run, task.number);
  const caller = run.tasks[task.caller ?? -1];
  const isClosed = isTaskClosed(task.status);
  if (called === undefined) {
    return [[task.caller === undefined, "no caller, since it is of the plan", `${task.caller}`]];
  }
  return [
    [caller !== undefined && caller.number < task.number, "an earlier caller", `${task.caller}`],
    [
      isFound(run, called),
      "its number in the index, or that of a later one of its name",
      `${called.spec.name}`,
    ],
    [isClosed === (task.closedEvent !== 0), "the event of its end", `${task.closedEvent}`],
    [
      caller?.calls?.open.has(task.number) === !isClosed,
      "a place among its caller's open calls exactly while it is open",
      `${caller?.calls?.open.has(task.number)}`,
    ],
    [
      caller?.calls?.ended.includes(task.number) === isClosed,
      "a place among its caller's ended calls exactly when it has ended",
      `${caller?.calls?.ended}`,
    ],
  ];
}

/** Of several called tasks of one name the last is found: the callers of the others were superseded. */
function isFound(run: Run, { spec }: CalledTask): boolean {
  const found = run.calledByName.get(spec.name) ?? -1;
  return found === spec.number || (found > spec.number && supersededIn(run, spec.number) > 0);
}

/** A task that rolls another one back. */
function rulesOfRollback(run: Run, { number, rollsBack, caller }: Task): Rule[] {
  const undone = run.tasks[rollsBack ?? -1];
  const name = calledTask(run, number)?.spec.name ?? "";
  return [
    [caller === undefined, "no caller, since it rolls back", `${caller}`],
    [
      (run.calledByName.get(name) ?? -1) >= number,
      "its number in the index, or that of a later one of its name",
      name,
    ],
    [
      undone?.status === TaskStatus.FAILED || undone?.status === TaskStatus.CANCELLED,
      "to roll back a task that failed or was cancelled",
      `${undone?.status}`,
    ],
    [undone?.rollback === number, "to be known where it rolls back", `${undone?.rollback}`],
  ];
}

/** A task that recorded how to undo what it did. */
function rulesOfDeclared(run: Run, { number, rollback }: Task): Rule[] {
  const hasRecorded = run.steps.some(
    (step) => step.task === number && step.rollback !== undefined && step.dropped === 0,
  );
  return [[hasRecorded === (rollback !== undefined), "a rollback among its steps", `${rollback}`]];
}

/** What a caller said of a call of its. */
function rulesOfLeaving({ caller, stop, abandoned }: Task): Rule[] {
  const isCalled = caller !== undefined;
  return [[isCalled || (stop === undefined && !abandoned), "a caller that left it", `${caller}`]];
}

function rulesOfCaller(run: Run, { number, calls }: Task): Rule[] {
  if (calls === undefined) {
    return [];
  }
  const ends = calls.ended.map((called) => run.tasks[called]?.closedEvent ?? 0);
  const of = run.tasks.filter(({ caller, dropped }) => caller === number && dropped === 0).length;
  return [
    [
      ends.every((end, at) => end >= (ends[at - 1] ?? 0)),
      "ended calls in the order of their ends",
      `${ends}`,
    ],
    [calls.open.size + calls.ended.length === of, `${of} calls`, `${calls.open.size} open`],
  ];
}

/** What is left to be done about calls: nobody waits for what an ended task called, unless its run was asked to stop. */
export function findLeftCalls(run: Run): Violation[] {
  const due = breaches("run", [
    [run.rollbacksDue.size === 0, "no rollback due between commands", `${[...run.rollbacksDue]}`],
  ]);
  const left = run.cancelRequestedAtMs === 0 ? run.tasks : [];
  const open = left
    .filter(
      ({ calls, status }) =>
        isTaskClosed(status) &&
        [...(calls?.open ?? [])].some((called) => endsWithCaller(run.tasks[called])),
    )
    .flatMap(({ number, status }) =>
      breaches(`task ${number}`, [
        [false, "no open call of an ended task", `it is ${taskStatusName(status)} with some`],
      ]),
    );
  return [...due, ...open];
}
