import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import type { EventBody } from "@pawl/server/core/event.js";
import type { Task } from "@pawl/server/core/state.js";
import { statesOf } from "../incarnations.js";
import type { ShadowLog, ShadowRun } from "../shadow-log.js";
import type { Diaries } from "./diaries.js";

/** Everything about functions that must have happened in some seed. */
export const functionKinds: readonly string[] = [
  ...["tasksCalled", "callsCancelled", "callsStopping", "callsAbandoned", "waitsOpened"],
  ...["rollbackBegan", "resolved: 7", "told CallTasks existing", "told DeclareWaits existing"],
  ...["a function goes on warm", "a function runs again cold", "a function reads several pages"],
  ...["a function lost its copy", "an outcome under a lease", "a late result", "a misfit"],
  ...["a call that failed for good", "a call that was cancelled", "a stopped call completed"],
  ...["a stopped call outlived its caller", "a call that was let go outlived its caller"],
  ...["a return is held", "an update is refused", "an update is answered", "a value is published"],
  ...["unseen outcomes go over to the next incarnation", "a rollback is done"],
];

/** Adds how often each of them happened. */
export function countFunctions(
  { runs }: ShadowLog,
  { counts }: Diaries,
  seen: Map<string, number>,
): void {
  const count = (what: string, by = 1): void => {
    seen.set(what, (seen.get(what) ?? 0) + by);
  };
  for (const [what, by] of counts) {
    count(what, by);
  }
  for (const what of [...runs.values()].flatMap(happenedIn)) {
    count(what);
  }
}

function happenedIn(run: ShadowRun): readonly string[] {
  return [
    ...run.events.flatMap(({ body, number }) => namesOf(body, number, run)),
    ...statesOf(run).flatMap(({ tasks }) => tasks.flatMap((task) => endOf(task, tasks))),
  ];
}

function namesOf(body: EventBody, number: number, { events }: ShadowRun): readonly string[] {
  switch (body.case) {
    case "attemptFailed":
      return body.value.failure?.kind === "RecordMismatch" ? ["a misfit"] : [];
    case "reviewOpened":
      return body.value.returned === undefined ? [] : ["a return is held"];
    case "stepRecorded": {
      const { answers, failure, publishes } = body.value;
      const answer = failure === undefined ? "an update is answered" : "an update is refused";
      return [
        ...(answers === undefined ? [] : [answer]),
        ...(publishes === undefined ? [] : ["a value is published"]),
      ];
    }
    case "runContinued": {
      const { seenThrough = number } = body.value;
      const isUnseen = events
        .slice(seenThrough, number)
        .some((later) => later.body.case === "waitEnded");
      return isUnseen ? ["unseen outcomes go over to the next incarnation"] : [];
    }
    default:
      return [];
  }
}

function endOf(task: Task, tasks: readonly Task[]): readonly string[] {
  const caller = tasks[task.caller ?? -1];
  if (task.rollsBack !== undefined) {
    return task.status === TaskStatus.COMPLETED ? ["a rollback is done"] : [];
  }
  if (caller === undefined) {
    return [];
  }
  const isLater = caller.closedAtMs !== 0 && task.closedAtMs > caller.closedAtMs;
  return [
    ...(task.status === TaskStatus.FAILED ? ["a call that failed for good"] : []),
    ...(task.status === TaskStatus.CANCELLED ? ["a call that was cancelled"] : []),
    ...(task.stop !== undefined && task.status === TaskStatus.COMPLETED
      ? ["a stopped call completed"]
      : []),
    ...(task.stop !== undefined && isLater ? ["a stopped call outlived its caller"] : []),
    ...(task.abandoned && isLater ? ["a call that was let go outlived its caller"] : []),
  ];
}
