import type { OperationStatus } from "@pawl/proto/v1/operation_pb.js";
import { TaskStatus } from "@pawl/proto/v1/run_pb.js";
import type { OperationLease } from "@pawl/server/core/command.js";
import type { Operation, Run, Task } from "@pawl/server/core/state.js";
import type { Move } from "./moves.js";
import { oneOf } from "./one-of.js";

/** The version of the run that a move expects, if any. */
export function versionOf(run: Run, move: Move): number | undefined {
  return move.pick % 2 === 0 ? undefined : run.version - move.stale;
}

/** The lease that a move reports under. */
export function leaseOf(run: Run, move: Move): OperationLease {
  const number = taskOf(run, move, [TaskStatus.LEASED]);
  return { task: number, leaseVersion: (run.tasks[number]?.leaseVersion ?? 1) - move.stale };
}

/** The task that a move is about: one that is as wanted, when it aims and there is one. */
export function taskOf(run: Run, move: Move, wanted: readonly TaskStatus[]): number {
  const suited = run.tasks.filter((task: Task) => wanted.includes(task.status));
  const isAimed = move.aims && suited.length > 0;
  return isAimed ? oneOf(suited, move.which).number : move.which % (run.tasks.length + 1);
}

/** The operation that a move is about; undefined when there is none. */
export function operationOf(
  run: Run,
  move: Move,
  wanted: readonly OperationStatus[],
): Operation | undefined {
  const suited = run.operations.filter((operation) => wanted.includes(operation.status));
  const among = move.aims && suited.length > 0 ? suited : run.operations;
  return among.length === 0 ? undefined : oneOf(among, move.which);
}
