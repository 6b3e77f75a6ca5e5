import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { type Run, type Task, type Wait, waitIdentity } from "../state.js";
import { isTaskClosed } from "../transitions.js";
import { subjectKey } from "../wait-subject.js";
import { breaches, type Rule, type Violation } from "./violation.js";

/** Violations of waits, and of what finds them. */
export function findWaitViolations(run: Run): Violation[] {
  const present = run.waits.filter(({ dropped }) => dropped === 0);
  const open = run.waits.filter((wait) => wait.closedAtMs === 0);
  const ended = present.filter(({ endedEvent }) => endedEvent !== 0).length;
  const bySubject = open.filter((wait) => subjectKey(wait.declaration) !== undefined).length;
  const indexed = [...run.openWaitsBySubject.values()].reduce((sum, of) => sum + of.length, 0);
  return [
    ...breaches("run", [
      [
        run.waitsByIdentity.size === present.length,
        `${present.length} waits in the index`,
        `${run.waitsByIdentity.size}`,
      ],
      [
        run.tasks.reduce((sum, task) => sum + task.endedWaits.length, 0) === ended,
        `${ended} ended waits by task`,
        "another number",
      ],
      [indexed === bySubject, `${bySubject} open waits by subject`, `${indexed}`],
    ]),
    ...run.waits.flatMap((wait, number) =>
      breaches(`wait ${number}`, rulesOfWait(run, wait, number)),
    ),
    ...run.tasks.flatMap((task) => breaches(`task ${task.number}`, rulesOfWaiting(run, task))),
  ];
}

function rulesOfWait(run: Run, wait: Wait, number: number): Rule[] {
  const { declaration, ended, endedEvent, closedAtMs } = wait;
  const task = run.tasks[wait.task];
  const isOpen = closedAtMs === 0;
  const key = subjectKey(declaration);
  const others = key === undefined ? undefined : run.openWaitsBySubject.get(key);
  return [
    [wait.number === number, `number ${number}`, `${wait.number}`],
    [task !== undefined, "a task of the run", `${wait.task}`],
    [
      (run.waitsByIdentity.get(waitIdentity(wait.task, declaration.name, declaration.key)) ===
        number) ===
        (wait.dropped === 0),
      "its number in the index",
      declaration.name,
    ],
    [
      task?.openWaits.includes(number) === isOpen,
      "a place among its task's exactly while it is open",
      `${task?.openWaits}`,
    ],
    [
      key === undefined || (others?.includes(number) ?? false) === isOpen,
      "a place by its subject exactly while it is open",
      `${others}`,
    ],
    [
      !isOpen || (task !== undefined && !isTaskClosed(task.status)),
      "an open task while it is open",
      `${task?.status}`,
    ],
    [(ended === undefined) === (endedEvent === 0), "an end with its event", `${endedEvent}`],
    [!isOpen || wait.dropped === 0, "open only while it is given to code", `${wait.dropped}`],
    [!isOpen || ended === undefined, "no end while it is open", `${endedEvent}`],
    [endedEvent <= run.eventCount, "an end among the events", `${endedEvent}`],
  ];
}

function rulesOfWaiting(run: Run, task: Task): Rule[] {
  const isSuspended = task.status === TaskStatus.SUSPENDED;
  const { openWaits, endedWaits } = task;
  const ends = endedWaits.map((number) => run.waits[number]?.endedEvent ?? 0);
  return [
    [
      !isSuspended || openWaits.length > 0 || (task.calls?.open.size ?? 0) > 0,
      "an open wait or call while SUSPENDED",
      "there is none",
    ],
    [
      task.suspensions <= task.leaseVersion,
      "no more suspensions than leases",
      `${task.suspensions} of ${task.leaseVersion}`,
    ],
    [
      openWaits.every((number, at) => number > (openWaits[at - 1] ?? -1)),
      "open waits by rising number",
      `${openWaits}`,
    ],
    [
      [...openWaits, ...endedWaits].every((number) => run.waits[number]?.task === task.number),
      "only its own waits",
      `${openWaits}, ${endedWaits}`,
    ],
    [
      ends.every((end, at) => end > (ends[at - 1] ?? 0)),
      "ended waits in the order of their ends",
      `${ends}`,
    ],
  ];
}
