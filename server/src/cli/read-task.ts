import type { Task } from "@pawl/proto/v1/run_pb.js";
import { CALL_TIMEOUT_MS } from "./connection.js";
import type { KernelSession, NextSteps } from "./with-kernel.js";

/** Which task is meant. */
export interface TaskPlace {
  readonly runId: string;
  readonly task: string;
}

/** Reads one task, with its output and its policy. */
export async function readTask(
  { kernel, namespace }: KernelSession,
  { runId, task }: TaskPlace,
): Promise<Task> {
  const request = { namespace, runId, task };
  const answer = await kernel.runs.getTask(request, { timeoutMs: CALL_TIMEOUT_MS });
  if (answer.task === undefined) {
    throw new Error(
      "Expected a task in the answer, but it is empty. Is the kernel newer than this command?",
    );
  }
  return answer.task;
}

/** What to do next when something about a task was refused. */
export function taskHints({ runId, task }: TaskPlace): NextSteps {
  return (reason, followUps) => {
    switch (reason) {
      case "PAWL_TASK_NOT_FOUND":
        return [followUps.command("run show", [runId])];
      case "PAWL_STALE_VERSION":
      case "PAWL_ILLEGAL_TRANSITION":
        return [followUps.command("task show", [runId, task])];
      case "PAWL_RUN_OVER":
        return [followUps.command("run show", [runId])];
      default:
        return undefined;
    }
  };
}
