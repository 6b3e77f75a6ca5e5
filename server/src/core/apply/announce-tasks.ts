import { RunStatus, TaskStatus } from "@pawl/proto/v1/run_pb.js";
import type { MutableRun } from "../state.js";
import { isRunOpen, isTaskClosed } from "../transitions.js";
import type { ApplyHooks } from "./hooks.js";

/**
 * Tells again of every open task: when a run was set aside or paused and goes on, or when it pauses, what is due for its tasks is another,
 * and what is READY is offered or not. Takes time in proportion to the tasks.
 */
export function announceTasks(run: MutableRun, hooks: ApplyHooks): void {
  if (!isRunOpen(run.status)) {
    return;
  }
  for (const task of run.tasks) {
    if (!isTaskClosed(task.status)) {
      hooks.taskMoved(run, task.number);
    }
    if (task.status === TaskStatus.READY && run.status === RunStatus.RUNNING) {
      hooks.taskReady(run, task.number);
    }
  }
}
