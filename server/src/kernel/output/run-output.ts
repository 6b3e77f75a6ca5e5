import { RunStatus, type TaskStatus } from "@pawl/proto/v1/run_pb.js";
import { taskNumber } from "../../core/plan/tasks-of-run.js";
import type { Run } from "../../core/state.js";
import { isRunOpen, isTaskClosed } from "../../core/transitions.js";
import type { OutputReader } from "./output-reader.js";
import type { TaskOutput } from "./task-output.js";

/** Live output of one run: of the tasks that emit, or that someone reads. */
export class RunOutput {
  readonly number: number;
  /** Which execution under the run id it is of; 0: not known yet. */
  incarnation = 0;
  /** How the run ended; UNSPECIFIED while it is open. As far as is durable. */
  closed: RunStatus = RunStatus.UNSPECIFIED;
  /** Place at which the run ended, and at which it last began once more; 0: never. */
  closedAt = 0;
  restartedAt = 0;
  readonly tasks: Map<string, TaskOutput> = new Map();
  readonly readers: Set<OutputReader> = new Set();

  constructor(number: number) {
    this.number = number;
  }
}

/** Where the tasks of a run stand that live output is about; taken when a turn is closed, used when it is durable. */
export interface OutputSnapshot {
  readonly runNumber: number;
  readonly incarnation: number;
  readonly closed: RunStatus;
  readonly tasks: readonly {
    readonly name: string;
    readonly status: TaskStatus;
    readonly leaseVersion: number;
    readonly attempt: number;
  }[];
}

/** Takes a snapshot of a run, and of some of its tasks. */
export function snapshotOf(
  runNumber: number,
  run: Run,
  names: ReadonlySet<string>,
): OutputSnapshot {
  const tasks: OutputSnapshot["tasks"][number][] = [];
  for (const name of names) {
    const task = run.tasks[taskNumber(run, name) ?? -1];
    if (task !== undefined) {
      const { status, leaseVersion, attempt } = task;
      tasks.push({ name, status, leaseVersion, attempt });
    }
  }
  return {
    runNumber,
    incarnation: run.incarnation,
    closed: isRunOpen(run.status) ? RunStatus.UNSPECIFIED : run.status,
    tasks,
  };
}

/** True when no more can come of a task. */
export function isOver(task: TaskOutput): boolean {
  return isTaskClosed(task.status);
}
